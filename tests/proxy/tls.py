# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the turnmeter authors
"""tls: a certificate authority that lives for one test run."""
import os
import ssl
import subprocess


def _openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


class Authority:
    def __init__(self, folder):
        self.folder = str(folder)
        self.ca_file = self._path("ca.pem")
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-subj", "/CN=turnmeter test authority",
                 "-addext", "basicConstraints=critical,CA:TRUE",
                 "-keyout", self._path("ca.key"), "-out", self.ca_file)

    def _path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name="localhost", days="2"):
        """Certificate and key for a host name and the loopback addresses;
        gives their paths."""
        stem = self._path(name)
        if os.path.exists(stem + ".pem"):
            return stem + ".pem", stem + ".key"
        with open(stem + ".ext", "w", encoding="ascii") as file:
            file.write("subjectAltName=DNS:%s%s\n" % (
                name, ",IP:127.0.0.1,IP:::1" if name == "localhost" else ""))
        _openssl("req", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                 "/CN=" + name, "-keyout", stem + ".key", "-out",
                 stem + ".csr")
        _openssl("x509", "-req", "-in", stem + ".csr", "-CA", self.ca_file,
                 "-CAkey", self._path("ca.key"), "-CAcreateserial", "-days",
                 days, "-extfile", stem + ".ext", "-out", stem + ".pem")
        return stem + ".pem", stem + ".key"

    def context(self, name="localhost", alpn=("http/1.1",)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(name))
        context.set_alpn_protocols(list(alpn))
        return context
