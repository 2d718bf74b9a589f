/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the turnmeter authors
 */
#include "report/turn_flags.h"

#include <string.h>

const struct turn_flag turn_flags[] = {
    {"advisor", "a second model advised within this turn; its tokens are in the"
		" provider's usage and may have a price of their own"},
    {"burst", "the answer came in too few pieces, too fast, or most of it in "
	      "one piece: no decode speed can be told"},
    {"byok", "the provider's cost was its fee alone; what your own key paid "
	     "is added"},
    {"cache_outside",
	"cached tokens were reported outside the prompt and are added "
	"to it"},
    {"cache_overlap",
	"the same tokens were reported as read from and as written to "
	"the cache; they count once"},
    {"cache_ttl_inconsistent",
	"the parts of the cache writes do not add up to the whole that "
	"was reported"},
    {"cache_ttl_unknown", "cache writes were reported without their lifetimes"},
    {"compaction", "the provider compacted the conversation within this turn"},
    {"fallback", "another model took over within this turn"},
    {"journal_cut",
	"too large for its place in the journal: tools or the raw usage"
	" were left out after a crash or under load"},
    {"likely_rate_limit",
	"the error has another name, but its text speaks of a limit"},
    {"limit_wall",
	"this request is larger than the limit itself: waiting does not"
	" help"},
    {"paused", "the answer paused for a tool of the provider's own; the client"
	       " sends the same again to go on"},
    {"reasoning_clamped",
	"more reasoning was reported than output; it is counted as all "
	"of the output"},
    {"reasoning_hidden",
	"tokens in the total that are neither prompt nor answer are "
	"counted as reasoning"},
    {"odd_event", "an event of the stream was not JSON; the others were read"},
    {"reasoning_outside",
	"reasoning was reported outside the output and is added to it"},
    {"request_unread",
	"the request could not be read (compressed, damaged or over a "
	"ceiling): model, messages and tools may be unknown"},
    {"second_message",
	"the stream began a second message; the counts are those of "
	"that one"},
    {"several_choices",
	"several answers to one request; their tokens are summed"},
    {"tool_nameless", "a tool call without a name is not in the list of tools"},
    {"tools_cut", "more kinds of tools than one turn holds; the rest is not "
		  "listed"},
    {"undecodable",
	"the answer's compression could not be undone for metering; "
	"what the client got is untouched"},
    {"unread", "the answer is neither JSON nor an event stream: relayed, not "
	       "measured"},
    {"unterminated",
	"the last event came without its end and was read all the same"},
    {"usage_decreased",
	"a later count of the stream was smaller than an earlier one; "
	"the larger stands"},
    {"usage_from_timings",
	"no usage was sent; the counts are those of the server's own "
	"timings"},
    {"usage_not_requested", "the client did not ask for usage: set "
			    "stream_options.include_usage in it"},
    {"usage_raw_cut",
	"the provider's usage object was too large to be kept whole"},
    {"usage_unread", "a usage object of the provider was too large to be read"},
};
const size_t n_turn_flags = sizeof(turn_flags) / sizeof(*turn_flags);

const char *
turn_flag_text(const char *name, size_t n)
{
	for (size_t i = 0; i < n_turn_flags; i++)
		if (strlen(turn_flags[i].name) == n &&
		    memcmp(turn_flags[i].name, name, n) == 0)
			return turn_flags[i].text;
	return NULL;
}
