package git_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator/source/git"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// origin is a bare repository with two commits of one file, and its template, from which a
// damaged copy is restored.
type origin struct {
	t             *testing.T
	template      string
	dir           string // of this copy
	first, second string // commits
	blob, oldBlob string // of the file in the second and in the first commit
	tree, top     string // folders of the second commit
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	c := newCheckout(t)
	c.write("p/a.yaml", "a: 1\n")
	o := &origin{t: t, template: filepath.Join(t.TempDir(), "template.git"), first: c.commit()}
	c.write("p/a.yaml", "a: 2\n")
	o.second = c.commit()
	o.blob, o.tree, o.top = c.git("rev-parse", "HEAD:p/a.yaml"), c.git("rev-parse", "HEAD:p"), c.git("rev-parse", "HEAD:")
	c.git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", o.template)
	c.git("push", "--quiet", o.template, "HEAD:main")
	o.oldBlob = c.git("rev-parse", "HEAD~:p/a.yaml")
	return o
}

// copy returns an independent copy whose branch names the first commit.
func (o *origin) copy(t *testing.T) *origin {
	t.Helper()
	c := *o
	c.t, c.dir = t, filepath.Join(t.TempDir(), "policies.git")
	c.restore(c.first)
	return &c
}

// restore replaces the repository by a fresh copy whose branch names the commit.
func (o *origin) restore(commit string) {
	o.t.Helper()
	check(o.t, os.RemoveAll(o.dir))
	check(o.t, os.CopyFS(o.dir, os.DirFS(o.template)))
	o.setBranch(commit)
}

func (o *origin) setBranch(commit string) {
	o.t.Helper()
	check(o.t, os.WriteFile(filepath.Join(o.dir, "refs/heads/main"), []byte(commit+"\n"), 0o644))
}

func (o *origin) objectPath(hash string) string {
	return filepath.Join(o.dir, "objects", hash[:2], hash[2:])
}

// pack returns a pack of the objects, written by git.
func (o *origin) pack(hashes ...string) []byte {
	o.t.Helper()
	git, folder := checkout{o.t, o.template}, o.t.TempDir()
	name := git.gitWith(strings.Join(hashes, "\n")+"\n", "pack-objects", "--quiet", filepath.Join(folder, "pack"))
	content, err := os.ReadFile(filepath.Join(folder, "pack-"+name+".pack"))
	check(o.t, err)
	return content
}

// checkRecovery reads a repository before, during and after a fault. During the fault,
// Snapshot must return an error that contains the location and want, and must leave no file
// in dir; afterwards it must return the second commit.
func checkRecovery(t *testing.T, r *git.Repository, location, dir, want string, times int, begin, end func()) {
	t.Helper()
	if files, _, _ := read(t, r); files["a.yaml"] != "a: 1\n" {
		t.Fatalf("before the fault: got %q", files)
	}
	begin()
	for range times {
		snapshot, list, err := r.Snapshot(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), location) {
			t.Errorf("got error %v, want %q and %s", err, want, location)
		}
		if err != nil && strings.Contains(err.Error(), "secret details") {
			t.Errorf("the error contains the server's text: %v", err)
		}
		if len(snapshot.Files) > 0 || len(list) > 0 {
			t.Errorf("got %d files and %d diagnostics, want an error alone", len(snapshot.Files), len(list))
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	end()
	if files, _, _ := read(t, r); files["a.yaml"] != "a: 2\n" {
		t.Errorf("after the fault: got %q", files)
	}
}

// serverFault replaces one response of the server.
type serverFault struct {
	name  string
	fault func(w http.ResponseWriter, r *http.Request, real http.Handler)
	// refs and pack are parts of the error if the fault replaces the list of references and
	// the pack. If empty, the fault is not tested there.
	refs, pack string
	isSlow     bool // the fault lasts until Stall or Timeout
}

// sendChanged sends the body of the real response, changed.
func sendChanged(w http.ResponseWriter, r *http.Request, real http.Handler, change func([]byte) []byte) {
	recorded := httptest.NewRecorder()
	real.ServeHTTP(recorded, r)
	w.Header().Set("Content-Type", recorded.Header().Get("Content-Type"))
	body := change(bytes.Clone(recorded.Body.Bytes()))
	_, _ = w.Write(body)
}

func status(code int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, "secret details", code) }
}

// raw writes text to the connection and closes it.
func raw(text string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		connection, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buffered.WriteString(text)
		_ = buffered.Flush()
		connection.Close()
	}
}

func changed(change func([]byte) []byte) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, real http.Handler) { sendChanged(w, r, real, change) }
}

// replaced sends another pack in the framing of the protocol.
func replaced(pack []byte) func(http.ResponseWriter, *http.Request, http.Handler) {
	return changed(func(body []byte) []byte {
		const nak = "0008NAK\n"
		body = body[:bytes.Index(body, []byte(nak))+len(nak)]
		for part := range slices.Chunk(pack, 60000) {
			body = fmt.Appendf(body, "%04x\x01%s", len(part)+5, part)
		}
		return append(body, "0000"...)
	})
}

// sendEndless sends more references, or more of the pack, until the client disconnects.
func (o *origin) sendEndless(w http.ResponseWriter, r *http.Request, real http.Handler, write func(io.Writer, []byte)) {
	noise := make([]byte, 1000)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	line := func(int) []byte { return fmt.Appendf(nil, "%04x\x01%s", len(noise)+5, noise) }
	end := func(body []byte) int { return bytes.Index(body, []byte("NAK\n")) + 4 }
	if r.Method == http.MethodGet {
		line = func(i int) []byte { return fmt.Appendf(nil, "0072%s refs/heads/%057d\n", o.first, i) }
		end = func(body []byte) int { return len(body) - 4 }
	}
	sendChanged(w, r, real, func(body []byte) []byte { return body[:end(body)] })
	for i := 0; r.Context().Err() == nil; i++ {
		write(w, line(i))
	}
}

// packEntry is an object of a pack written by packOf.
type packEntry struct {
	kind    byte
	base    string // reference of a delta to its base, between header and content
	content []byte
	size    int // in the header
}

const (
	blobEntry     = 3
	offsetEntry   = 6
	refDeltaEntry = 7
)

// packOf returns a pack whose header announces count objects.
func packOf(count int, entries ...packEntry) []byte {
	var out bytes.Buffer
	out.WriteString("PACK")
	_ = binary.Write(&out, binary.BigEndian, [2]uint32{2, uint32(count)})
	for _, e := range entries {
		first, rest := e.kind<<4|byte(e.size&15), e.size>>4
		for rest > 0 {
			out.WriteByte(first | 0x80)
			first, rest = byte(rest&0x7f), rest>>7
		}
		out.WriteByte(first)
		out.WriteString(e.base)
		zipped := zlib.NewWriter(&out)
		_, _ = zipped.Write(e.content)
		_ = zipped.Close()
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

func blobOf(content []byte) packEntry { return packEntry{blobEntry, "", content, len(content)} }

const maxFetch = 8 << 20

func serverFaults(o *origin) []serverFault {
	const mega = 1 << 20
	many := make([]packEntry, 9) // each at its limit, an eighth of maxFetch
	for i := range many {
		many[i] = blobOf(bytes.Repeat([]byte{byte(i)}, mega))
	}
	rejection, escaped := "go away\x1b[2J\n", `go away\x1b[2J`
	half := func(body []byte) []byte { return body[:len(body)/2] }
	flip := func(offset int) func([]byte) []byte {
		return func(body []byte) []byte {
			pack := bytes.Index(body, []byte("PACK"))
			body[pack+offset] ^= 0x10
			return body
		}
	}
	return []serverFault{
		{"connection closed", raw(""), "EOF", "EOF", false},
		{"closed within the headers", raw("HTTP/1.1 200 OK\r\nContent-Le"), "connection broken", "connection broken", false},
		{"closed within the body", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			sendChanged(w, r, real, half)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "EOF", "EOF", false},
		{"truncated body", changed(half), "EOF", "EOF", false},
		{"empty body", changed(func([]byte) []byte { return nil }), "empty", "empty", false},
		{"SSH instead of HTTP", raw("SSH-2.0-OpenSSH_9.9\r\n"), "malformed", "malformed", false},
		{"HTML page", changed(func([]byte) []byte { return []byte("<html>please log in</html>") }), "pkt-len", "pkt-len", false},
		{"401 Unauthorized", status(http.StatusUnauthorized), "requires credentials", "requires credentials", false},
		{"403 Forbidden", status(http.StatusForbidden), "rejected the credentials", "rejected the credentials", false},
		{"404 Not Found", status(http.StatusNotFound), "repository not found", "repository not found", false},
		{"500 Internal Server Error", status(http.StatusInternalServerError), "returned 500", "returned 500", false},
		{"507 Insufficient Storage", status(http.StatusInsufficientStorage), "returned 507", "returned 507", false},
		{"429 Too Many Requests", status(http.StatusTooManyRequests), "returned 429", "returned 429", false},
		{"error packet", changed(func([]byte) []byte { return fmt.Appendf(nil, "%04xERR %s", 8+len(rejection), rejection) }), escaped, escaped, false},
		{"redirect loop", func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusTemporaryRedirect)
		}, "redirects", "redirect", false},
		{"no response", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() },
			"timeout awaiting response headers", "timeout awaiting response headers", true},
		{"stalled body", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			sendChanged(w, r, real, half)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "stalled", "stalled", true},
		{"slow endless body", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			o.sendEndless(w, r, real, func(w io.Writer, line []byte) {
				for i := 0; i < len(line) && r.Context().Err() == nil; i++ {
					_, _ = w.Write(line[i : i+1])
					_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
					<-ticker.C
				}
			})
		}, "timed out", "timed out", true},
		{"endless body", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			o.sendEndless(w, r, real, func(w io.Writer, line []byte) { _, _ = w.Write(line) })
		}, "the list of references exceeds", "the commit exceeds", false},
		{"corrupted pack header", changed(flip(0)), "", "incomplete pack", false},
		{"corrupted object", changed(flip(30)), "", "incomplete pack", false},
		{"corrupted checksum", changed(func(body []byte) []byte { body[len(body)-5] ^= 1; return body }), "", "checksum mismatch", false},
		{"empty pack", replaced(packOf(0)), "", "not found", false},
		{"other data instead of a pack", replaced([]byte("PUCK")), "", "incomplete pack", false},
		{"another commit", replaced(o.pack(o.first)), "", "not found", false},
		{"commit without its folder", replaced(o.pack(o.second)), "", `read folder "": object not found`, false},
		{"folder without its file", replaced(o.pack(o.second, o.tree, o.top)), "", "read a.yaml: object not found", false},
		{"delta without its base", replaced(packOf(1, packEntry{refDeltaEntry, strings.Repeat("x", 20), []byte("\x01\x01\x01x"), 4})), "", "incomplete pack", false},
		{"delta of itself", replaced(packOf(1, packEntry{offsetEntry, "\x00", []byte("\x01\x01\x01x"), 4})), "", "incomplete pack", false},
		{"fewer objects than announced", replaced(packOf(2, blobOf([]byte("x")))), "", "incomplete pack", false},
		{"billions of objects announced", replaced(packOf(1<<31, blobOf([]byte("x")))), "", "exceeds the limit", false},
		{"object larger than announced", replaced(packOf(1, packEntry{blobEntry, "", make([]byte, mega), 1})), "", "exceeds declared size", false},
		{"object smaller than announced", replaced(packOf(1, packEntry{blobEntry, "", []byte("x"), mega / 2})), "", "incomplete pack", false},
		{"object of a terabyte announced", replaced(packOf(1, packEntry{blobEntry, "", []byte("x"), 1 << 40})), "", "an object of the commit exceeds", false},
		{"decompression bomb", replaced(packOf(1, blobOf(make([]byte, 2*mega)))), "", "an object of the commit exceeds", false},
		{"many small decompression bombs", replaced(packOf(len(many), many...)), "", "the unpacked commit exceeds", false},
		{"delta bomb", replaced(packOf(2, blobOf([]byte("x")),
			packEntry{offsetEntry, "\x0a", []byte("\x01\x80\x80\x80\x80\x40\x01x"), 8})), "", "an object of the commit exceeds", false},
	}
}

// Each fault replaces the list of references, or the pack, between two good commits.
func TestServerFaults(t *testing.T) {
	o := newOrigin(t)
	rows := [][]string{{"fault", "error while listing references", "error while fetching the commit"}}
	for _, f := range serverFaults(o) {
		rows = append(rows, []string{f.name, f.refs, f.pack})
		for method, want := range map[string]string{http.MethodGet: f.refs, http.MethodPost: f.pack} {
			step := map[string]string{http.MethodGet: "the references", http.MethodPost: "the pack"}[method]
			if want == "" {
				continue
			}
			t.Run(f.name+"/"+step, func(t *testing.T) {
				t.Parallel()
				if f.isSlow {
					gate.Only(t)
				}
				local, dir := o.copy(t), t.TempDir()
				server := serveGitBelow(t, filepath.Dir(local.dir))
				r := git.Open(faultOptions(t, server.URL, dir, want))
				times := 2
				if f.isSlow {
					times = 1
				}
				checkRecovery(t, r, "git+"+server.URL, dir, want, times, func() {
					local.setBranch(local.second)
					fault := func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
						if r.Method != method {
							return false
						}
						// A server notices a closed connection only after it has read the request.
						body, err := io.ReadAll(r.Body)
						check(t, err)
						r.Body = io.NopCloser(bytes.NewReader(body))
						f.fault(w, r, real)
						return true
					}
					server.fault.Store(&fault)
				}, func() { server.fault.Store(nil) })
			})
		}
	}
	checkDocumented(t, rows)
}

// checkDocumented requires the table of the tested faults in docs/faults.md.
func checkDocumented(t *testing.T, rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/faults.md")
	check(t, err)
	table := "\n"
	for i, row := range rows {
		for column, cell := range row {
			if i > 0 && column > 0 && cell != "" {
				cell = "`" + cell + "`"
			}
			table += strings.TrimRight("| "+cell, " ") + " "
		}
		table += "|\n"
		if i == 0 {
			table += strings.Repeat("| --- ", len(row)) + "|\n"
		}
	}
	if !strings.Contains(string(page), table+"\n") {
		t.Errorf("docs/faults.md must contain this table:\n%s", table)
	}
}

// faultOptions limits what a fault shall reach, to a time that a good answer does not take
// on a busy machine.
func faultOptions(t *testing.T, url, dir, want string) git.Options {
	t.Helper()
	o := git.Options{Location: parse(t, "git+"+url+"/policies.git//p?ref=main"), Dir: dir, MaxFetch: maxFetch}
	switch want {
	case "timed out":
		o.Timeout = 5 * time.Second
	case "stalled", "timeout awaiting response headers":
		o.Stall = 3 * time.Second
	}
	return o
}
