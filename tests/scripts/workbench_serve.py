#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""saltus serve lets in who has its token and no other: foreign pages, other names for its address, paths that lead out,
requests that are too large, engines that hang or die."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import saltus_run  # noqa: E402

PAGE = "testpage1234"


class Server:
    def __init__(self, folder, *options, before=()):
        self.child = subprocess.Popen([*before, saltus_run.PROGRAM, "serve", folder, *options], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        text = ""
        for line in self.child.stdout:
            text += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"http://([\d.]+):(\d+)/#token=([0-9a-f]+)", text)
        if not found:
            raise RuntimeError(text + self.child.stderr.read())
        self.host, self.port, self.token = found[1], int(found[2]), found[3]

    def ask(self, method, path, body=None, token="", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"X-Saltus-Token": self.token if token == "" else token} if token is not None else {}
        sent.update({k.replace("_", "-"): v for k, v in headers.items()})
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer, data

    def engine(self, page=PAGE, **request):
        answer, data = self.ask("POST", f"/engine?page={page}", json.dumps(request).encode())
        if answer.status != 200:
            return answer.status, data.decode()
        length, = struct.unpack("<I", data[:4])
        return 200, json.loads(data[4:4 + length])

    def children(self):
        with open(f"/proc/{self.child.pid}/task/{self.child.pid}/children", encoding="ascii") as f:
            own = f.read().split()
        for task in os.listdir(f"/proc/{self.child.pid}/task"):
            try:
                with open(f"/proc/{self.child.pid}/task/{task}/children", encoding="ascii") as f:
                    own += f.read().split()
            except FileNotFoundError:
                pass
        return sorted({int(p) for p in own})

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.stdout.close()
        self.child.stderr.close()
        return self.child.wait(timeout=20)


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outside = tempfile.mkdtemp()
        cls.folder = os.path.join(cls.outside, "models")
        os.mkdir(cls.folder)
        with open(os.path.join(cls.outside, "secret.lisma"), "w", encoding="utf-8") as f:
            f.write("secret' = 1;")
        with open(os.path.join(cls.folder, "a.lisma"), "w", encoding="utf-8") as f:
            f.write("x' = 1;")
        with open(os.path.join(cls.folder, "notes.txt"), "w", encoding="utf-8") as f:
            f.write("private")
        os.symlink(os.path.join(cls.outside, "secret.lisma"), os.path.join(cls.folder, "link.lisma"))
        os.symlink(cls.outside, os.path.join(cls.folder, "up"))
        cls.server = Server(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        shutil.rmtree(cls.outside)

    def status(self, *args, **kwargs):
        return self.server.ask(*args, **kwargs)[0].status

    def test_page_needs_no_token_and_says_what_it_may_do(self):
        answer, data = self.server.ask("GET", "/", token=None)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.getheader("Content-Encoding"), "gzip")
        self.assertIn("frame-ancestors 'none'", answer.getheader("Content-Security-Policy"))
        self.assertGreater(len(data), 1000)
        self.assertNotIn(self.server.token.encode(), data)

    def test_listens_on_this_machine_alone(self):
        with open("/proc/net/tcp", encoding="ascii") as f:
            listening = [line.split()[1] for line in f if line.split()[3] == "0A"]
        self.assertIn(f"0100007F:{self.server.port:04X}", listening)
        self.assertNotIn(f"00000000:{self.server.port:04X}", listening)

    def test_token(self):
        wrong = ("0" * 32, self.server.token[:-1], self.server.token + "0", "", None)
        for path, method in (("/folder", "GET"), ("/file?path=a.lisma", "GET"), (f"/engine?page={PAGE}", "POST"),
                             ("/file?path=new.lisma", "PUT"), (f"/engine?page={PAGE}", "DELETE"), ("/other", "GET")):
            for token in wrong:
                sent = None if token is None else token or " "
                self.assertEqual(self.status(method, path, b"{}", token=sent), 401, (path, token))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "new.lisma")))

    def test_foreign_pages_and_names(self):
        own = f"127.0.0.1:{self.server.port}"
        for origin in ("http://evil.example", "null", f"https://{own}", f"http://localhost.evil:{self.server.port}",
                       f"http://127.0.0.1:{self.server.port + 1}"):
            self.assertEqual(self.status("GET", "/folder", Origin=origin), 403, origin)
            self.assertEqual(self.status("GET", "/", Origin=origin), 403, origin)
        self.assertEqual(self.status("GET", "/folder", Origin=f"http://{own}"), 200)
        for host in ("evil.example", f"evil.example:{self.server.port}", "127.0.0.1", f"127.0.0.1:{self.server.port + 1}",
                     f"127.0.0.1:{self.server.port}x", f"127.0.0.1.evil.example:{self.server.port}", f"2130706433:{self.server.port}"):
            self.assertEqual(self.status("GET", "/folder", Host=host), 403, host)
        self.assertEqual(self.status("GET", "/folder", Host=f"localhost:{self.server.port}"), 200)

    def test_no_path_leads_out(self):
        listed = json.loads(self.server.ask("GET", "/folder")[1])
        self.assertEqual([f["path"] for f in listed["files"]], ["a.lisma"])
        self.assertEqual(self.server.ask("GET", "/file?path=a.lisma")[1], b"x' = 1;")
        for path in ("../secret.lisma", "link.lisma", "up/secret.lisma", "..%2Fsecret.lisma", "%2e%2e/secret.lisma",
                     "a.lisma/../../secret.lisma", os.path.join(self.outside, "secret.lisma"), "notes.txt", "", ".",
                     "a.lisma%00.csv", "..\\secret.lisma", "models/../../secret.lisma"):
            answer, data = self.server.ask("GET", f"/file?path={path}")
            self.assertIn(answer.status, (400, 403, 404), path)
            self.assertNotIn(b"secret'", data, path)
            self.assertIn(self.status("PUT", f"/file?path={path}", b"y' = 1;"), (400, 403, 404), path)
        with open(os.path.join(self.outside, "secret.lisma"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "secret' = 1;")
        with open(os.path.join(self.folder, "notes.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "private")

    def test_what_is_not_listed_is_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(2003):
                open(os.path.join(folder, f"m{i:04}.lisma"), "w", encoding="utf-8").close()
            for name in (b"\xff.lisma", b"back\\slash.lisma", b"line\n.lisma"):
                open(os.path.join(os.fsencode(folder), name), "w", encoding="utf-8").close()
            deep = folder
            server = Server(folder)
            listed = json.loads(server.ask("GET", "/folder")[1])
            self.assertEqual((len(listed["files"]), listed["left"]), (2000, 6))
            for file in listed["files"][:3]:
                self.assertEqual(server.ask("GET", f"/file?path={file['path']}")[0].status, 200)
            server.stop()
            shutil.rmtree(folder)
            os.mkdir(folder)
            for i in range(20):
                deep = os.path.join(deep, str(i))
                os.mkdir(deep)
            server = Server(folder)
            self.assertEqual(json.loads(server.ask("GET", "/folder")[1])["left"], 1)
            server.stop()

    def test_protected_files_are_not_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kept.lisma")
            with open(path, "w", encoding="utf-8") as f:
                f.write("x' = 1;")
            os.chmod(path, 0o444)
            # who is root here is not let through either
            plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else []
            server = Server(folder, before=plain)
            answer, data = server.ask("PUT", "/file?path=kept.lisma", b"x' = 2;")
            self.assertEqual(answer.status, 403)
            self.assertIn(b"protected", data)
            server.stop()
            with open(path, encoding="utf-8") as f:
                self.assertEqual(f.read(), "x' = 1;")

    def test_silent_clients_do_not_keep_others_out(self):
        silent = []
        try:
            for _ in range(70):
                s = socket.create_connection(("127.0.0.1", self.server.port), timeout=30)
                s.sendall(b"GET / HTTP/1.1\r\nHost: ")
                silent.append(s)
            self.assertEqual(self.status("GET", "/folder"), 200)
        finally:
            for s in silent:
                s.close()

    def test_two_pages_do_not_overwrite_each_other(self):
        answer, _ = self.server.ask("PUT", "/file?path=two.lisma", b"x' = 1;", If_None_Match="*")
        first = answer.getheader("ETag")
        self.assertEqual(self.status("PUT", "/file?path=two.lisma", b"x' = 2;", If_None_Match="*"), 412)
        answer, _ = self.server.ask("PUT", "/file?path=two.lisma", b"x' = 22;", If_Match=first)
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.status("PUT", "/file?path=two.lisma", b"x' = 3;", If_Match=first), 412)
        self.assertEqual(self.server.ask("GET", "/file?path=two.lisma")[1], b"x' = 22;")
        os.remove(os.path.join(self.folder, "two.lisma"))

    def test_saving_at_the_same_time(self):
        """Of pages that save changes of one text at once, one has saved, and the others hear of it."""
        other = Server(self.folder)  # of the same folder
        try:
            self.server.ask("PUT", "/file?path=race.lisma", b"x' = 0000;")
            for turn in range(12):
                answer, _ = self.server.ask("GET", "/file?path=race.lisma")
                texts = [b"x' = %d%03d;" % (i, turn) for i in range(4)]
                found = [0] * len(texts)

                def save(i, version=answer.getheader("ETag"), texts=texts, found=found):
                    server = (self.server, other)[i % 2]
                    found[i] = server.ask("PUT", "/file?path=race.lisma", texts[i], If_Match=version)[0].status

                pages = [threading.Thread(target=save, args=(i,)) for i in range(len(texts))]
                for page in pages:
                    page.start()
                for page in pages:
                    page.join()
                self.assertEqual(sorted(found), [200, 412, 412, 412])
                self.assertEqual(self.server.ask("GET", "/file?path=race.lisma")[1], texts[found.index(200)])
        finally:
            other.stop()
            os.remove(os.path.join(self.folder, "race.lisma"))

    def test_half_a_text_is_not_saved(self):
        self.server.ask("PUT", "/file?path=half.lisma", b"x' = 1;")
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            connection.send(b"PUT /file?path=half.lisma HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Saltus-Token: %s\r\n"
                            b"Content-Length: 1000\r\n\r\nx' = 2;" % (self.server.port, self.server.token.encode()))
        time.sleep(0.3)
        self.assertEqual(self.server.ask("GET", "/file?path=half.lisma")[1], b"x' = 1;")
        os.remove(os.path.join(self.folder, "half.lisma"))

    def test_names_that_would_not_be_listed(self):
        for name in ("n%0aw.lisma", "%1b%5b31m.lisma", ".hidden.lisma", "a%5cb.lisma"):
            self.assertEqual(self.status("PUT", f"/file?path={name}", b"x' = 1;"), 403, name)

    def test_large_messages(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.putrequest("POST", f"/engine?page={PAGE}")
        connection.putheader("X-Saltus-Token", self.server.token)
        connection.putheader("Content-Length", str(10 << 20))
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()
        # one that does not tell its length is cut off
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as s:
            s.sendall(f"POST /engine?page={PAGE} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
                      f"X-Saltus-Token: {self.server.token}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
            with self.assertRaises(OSError):
                for _ in range(40):
                    s.sendall(chunk)
                if not s.recv(100).startswith(b"HTTP/1.1 200"):
                    raise OSError("refused")
        self.assertEqual(self.status("GET", "/folder"), 200)

    def test_pages_have_engines_of_their_own(self):
        self.server.engine("pageone000", op="compile", path="a.lisma", text="x' = 1;")
        self.server.engine("pagetwo000", op="compile", path="a.lisma", text="y' = 2;")
        for page, name in (("pageone000", "x"), ("pagetwo000", "y")):
            _, answer = self.server.engine(page, op="run", ms=1000)
            self.assertEqual(answer["state"], "done", name)
        before = self.server.children()
        self.assertEqual(self.status("DELETE", "/engine?page=pageone000"), 200)
        self.assertEqual(len(self.server.children()), len(before) - 1)
        self.server.ask("DELETE", "/engine?page=pagetwo000")

    def test_an_engine_that_dies_is_started_anew(self):
        before = set(self.server.children())
        self.server.engine("pagekill00", op="compile", path="a.lisma", text="x' = 1;")
        fresh = set(self.server.children()) - before
        self.assertEqual(len(fresh), 1)
        os.kill(fresh.pop(), signal.SIGKILL)
        status, text = self.server.engine("pagekill00", op="run")
        self.assertEqual(status, 502, text)
        status, answer = self.server.engine("pagekill00", op="compile", path="a.lisma", text="x' = 1;")
        self.assertEqual((status, answer["ok"]), (200, True))
        self.server.ask("DELETE", "/engine?page=pagekill00")

    def test_names_of_pages(self):
        for page in ("", "short", "x" * 33, "../../etc", "page name!!", "PAGEPAGE12"):
            self.assertEqual(self.status("POST", f"/engine?page={page.replace(' ', '%20')}", b"{}"), 400, page)


class Life(unittest.TestCase):
    def test_no_process_stays_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder)
            server.engine(op="compile", path="a.lisma", text="x' = 1;")
            children = server.children()
            self.assertTrue(children)
            self.assertEqual(server.stop(), 0)
            for pid in children:
                with self.assertRaises(ProcessLookupError):
                    os.kill(pid, 0)

    def test_a_killed_server_leaves_no_engine(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder)
            server.engine(op="compile", path="a.lisma", text="x' = 1;")
            children = server.children()
            server.child.kill()
            server.child.wait()
            server.child.stdout.close()
            server.child.stderr.close()
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and any(alive(p) for p in children):
                time.sleep(0.05)
            self.assertFalse([p for p in children if alive(p)])

    def test_wrong_use(self):
        for words, part in ((["serve", "/nowhere/at/all"], "no folder"), (["serve", ".", "."], "one folder"),
                            (["serve", "--port", "0"], "--port"), (["serve", "--listen", "here"], "no address")):
            done = subprocess.run([saltus_run.PROGRAM, *words], capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(part, done.stderr)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().split(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        probe = subprocess.run([saltus_run.PROGRAM, "serve", "--listen", "nowhere", empty], capture_output=True, text=True,
                               check=False)
    if "no address" not in probe.stderr:
        print("skipped: " + probe.stderr.strip().splitlines()[0])
        sys.exit(77)
    unittest.main()
