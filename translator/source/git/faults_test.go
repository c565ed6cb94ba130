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

	"github.com/writ-policy/writ/translator/source/git"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// origin is a bare repository with two commits of one file, and what is needed to put
// another copy of it in place.
type origin struct {
	t             *testing.T
	template      string
	dir           string // of this copy
	first, second string
	blob, before  string // of the second and the first
	tree, top     string // its folders
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
	o.before = c.git("rev-parse", "HEAD~:p/a.yaml")
	return o
}

// copy is a repository of its own, at the first commit.
func (o *origin) copy(t *testing.T) *origin {
	t.Helper()
	c := *o
	c.t, c.dir = t, filepath.Join(t.TempDir(), "policies.git")
	c.restore(c.first)
	return &c
}

// restore puts the repository in place, whatever has become of it, at a commit.
func (o *origin) restore(commit string) {
	o.t.Helper()
	check(o.t, os.RemoveAll(o.dir))
	check(o.t, os.CopyFS(o.dir, os.DirFS(o.template)))
	o.point(commit)
}

func (o *origin) point(commit string) {
	o.t.Helper()
	check(o.t, os.WriteFile(filepath.Join(o.dir, "refs/heads/main"), []byte(commit+"\n"), 0o644))
}

func (o *origin) object(hash string) string {
	return filepath.Join(o.dir, "objects", hash[:2], hash[2:])
}

// packed is a pack of objects, as git makes it.
func (o *origin) packed(hashes ...string) []byte {
	o.t.Helper()
	git, folder := checkout{o.t, o.template}, o.t.TempDir()
	name := git.gitWith(strings.Join(hashes, "\n")+"\n", "pack-objects", "--quiet", filepath.Join(folder, "pack"))
	content, err := os.ReadFile(filepath.Join(folder, "pack-"+name+".pack"))
	check(o.t, err)
	return content
}

// survives holds a reading to a fault between two good commits: an error that names
// the place and the fault, nothing left behind, and then the second commit.
func survives(t *testing.T, r *git.Repository, location, dir, want string, times int, begin, end func()) {
	t.Helper()
	if files, _, _ := reading(t, r); files["a.yaml"] != "a: 1\n" {
		t.Fatalf("before the fault: got %q", files)
	}
	begin()
	for range times {
		snapshot, list, err := r.Snapshot(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), location) {
			t.Errorf("got error %v, want %q and %s", err, want, location)
		}
		if err != nil && strings.Contains(err.Error(), "secret details") {
			t.Errorf("the server's text is in the error: %v", err)
		}
		if len(snapshot.Files) > 0 || len(list) > 0 {
			t.Errorf("got %d files and %d diagnostics beside the error", len(snapshot.Files), len(list))
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	end()
	if files, _, _ := reading(t, r); files["a.yaml"] != "a: 2\n" {
		t.Errorf("after the fault: got %q", files)
	}
}

// gitFault is met in place of one answer of the server.
type gitFault struct {
	name  string
	fault func(w http.ResponseWriter, r *http.Request, real http.Handler)
	// refs and pack are what is said where the references are asked for and where the
	// pack is; empty: the fault is none there.
	refs, pack string
	slow       bool // it lasts until a second is over
}

// answered is what the server answers, to be spoilt.
func answered(w http.ResponseWriter, r *http.Request, real http.Handler, change func([]byte) []byte) {
	recorded := httptest.NewRecorder()
	real.ServeHTTP(recorded, r)
	w.Header().Set("Content-Type", recorded.Header().Get("Content-Type"))
	body := change(bytes.Clone(recorded.Body.Bytes()))
	_, _ = w.Write(body)
}

func status(code int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, "secret details", code) }
}

// raw answers with text on the connection and then nothing more.
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

func spoilt(change func([]byte) []byte) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, real http.Handler) { answered(w, r, real, change) }
}

// instead answers with another pack, in the form of the protocol.
func instead(pack []byte) func(http.ResponseWriter, *http.Request, http.Handler) {
	return spoilt(func(body []byte) []byte {
		const nak = "0008NAK\n"
		body = body[:bytes.Index(body, []byte(nak))+len(nak)]
		for part := range slices.Chunk(pack, 60000) {
			body = fmt.Appendf(body, "%04x\x01%s", len(part)+5, part)
		}
		return append(body, "0000"...)
	})
}

// endless goes on with references, or with the pack, until nobody listens.
func (o *origin) endless(w http.ResponseWriter, r *http.Request, real http.Handler, write func(io.Writer, []byte)) {
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
	answered(w, r, real, func(body []byte) []byte { return body[:end(body)] })
	for i := 0; r.Context().Err() == nil; i++ {
		write(w, line(i))
	}
}

// packOf writes a pack by hand. An entry is its type and what stands between its
// header and its content, its content, and the size its header says.
type packEntry struct {
	kind    byte
	before  string
	content []byte
	size    int
}

const (
	blobEntry   = 3
	offsetEntry = 6
)

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
		out.WriteString(e.before)
		zipped := zlib.NewWriter(&out)
		_, _ = zipped.Write(e.content)
		_ = zipped.Close()
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

func blobOf(content []byte) packEntry { return packEntry{blobEntry, "", content, len(content)} }

// What a test lets a fetch have.
const mostFetched = 8 << 20

func gitFaults(o *origin) []gitFault {
	const mega = 1 << 20
	many := make([]packEntry, 9)
	for i := range many {
		many[i] = blobOf(bytes.Repeat([]byte{byte(i)}, mega))
	}
	refusal, shown := "go away\x1b[2J\n", `go away\x1b[2J`
	half := func(body []byte) []byte { return body[:len(body)/2] }
	flip := func(from int) func([]byte) []byte {
		return func(body []byte) []byte {
			at := bytes.Index(body, []byte("PACK"))
			body[at+from] ^= 0x10
			return body
		}
	}
	return []gitFault{
		{"killed", raw(""), "EOF", "EOF", false},
		{"cut in the headers", raw("HTTP/1.1 200 OK\r\nContent-Le"), "connection broken", "connection broken", false},
		{"cut in the body", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			answered(w, r, real, half)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "EOF", "EOF", false},
		{"truncated", spoilt(half), "EOF", "EOF", false},
		{"empty", spoilt(func([]byte) []byte { return nil }), "empty", "empty", false},
		{"no HTTP", raw("SSH-2.0-OpenSSH_9.9\r\n"), "malformed", "malformed", false},
		{"a page", spoilt(func([]byte) []byte { return []byte("<html>please log in</html>") }), "pkt-len", "pkt-len", false},
		{"not authenticated", status(http.StatusUnauthorized), "wants credentials", "wants credentials", false},
		{"forbidden", status(http.StatusForbidden), "refuses the credentials", "refuses the credentials", false},
		{"not found", status(http.StatusNotFound), "no such repository", "no such repository", false},
		{"an error", status(http.StatusInternalServerError), "answers 500", "answers 500", false},
		{"a full server", status(http.StatusInsufficientStorage), "answers 507", "answers 507", false},
		{"too many requests", status(http.StatusTooManyRequests), "answers 429", "answers 429", false},
		{"a refusal", spoilt(func([]byte) []byte { return fmt.Appendf(nil, "%04xERR %s", 8+len(refusal), refusal) }), shown, shown, false},
		{"a loop", func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusTemporaryRedirect)
		}, "redirects", "redirect", false},
		{"silence", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() },
			"timeout awaiting response headers", "timeout awaiting response headers", true},
		{"standing still", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			answered(w, r, real, half)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "stands still", "stands still", true},
		{"a byte now and then, without end", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			o.endless(w, r, real, func(w io.Writer, line []byte) {
				for i := 0; i < len(line) && r.Context().Err() == nil; i++ {
					_, _ = w.Write(line[i : i+1])
					_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
					<-ticker.C
				}
			})
		}, "too long", "too long", true},
		{"without end", func(w http.ResponseWriter, r *http.Request, real http.Handler) {
			o.endless(w, r, real, func(w io.Writer, line []byte) { _, _ = w.Write(line) })
		}, "the list of references has more than", "the commit has more than", false},
		{"corrupted at its beginning", spoilt(flip(0)), "", "no whole pack", false},
		{"corrupted in the middle", spoilt(flip(30)), "", "no whole pack", false},
		{"corrupted at its end", spoilt(func(body []byte) []byte { body[len(body)-5] ^= 1; return body }), "", "checksum mismatch", false},
		{"no object", instead(packOf(0)), "", "is not there", false},
		{"no pack", instead([]byte("PUCK")), "", "no whole pack", false},
		{"another commit", instead(o.packed(o.first)), "", "is not there", false},
		{"a commit without its folder", instead(o.packed(o.second)), "", `read the folder "": object not found`, false},
		{"a folder without its file", instead(o.packed(o.second, o.tree, o.top)), "", "read a.yaml: object not found", false},
		{"a part of a difference", instead(packOf(1, packEntry{7, strings.Repeat("x", 20), []byte("\x01\x01\x01x"), 4})), "", "no whole pack", false},
		{"a difference of itself", instead(packOf(1, packEntry{offsetEntry, "\x00", []byte("\x01\x01\x01x"), 4})), "", "no whole pack", false},
		{"more objects than there are", instead(packOf(2, blobOf([]byte("x")))), "", "no whole pack", false},
		{"objects without end", instead(packOf(1<<31, blobOf([]byte("x")))), "", "objects that are fetched", false},
		{"an object larger than it says", instead(packOf(1, packEntry{blobEntry, "", make([]byte, mega), 1})), "", "exceeds declared size", false},
		{"an object smaller than it says", instead(packOf(1, packEntry{blobEntry, "", []byte("x"), mega / 2})), "", "no whole pack", false},
		{"an object of terabytes", instead(packOf(1, packEntry{blobEntry, "", []byte("x"), 1 << 40})), "", "an object of more than", false},
		{"a bomb", instead(packOf(1, blobOf(make([]byte, 2*mega)))), "", "an object of more than", false},
		{"many small bombs", instead(packOf(len(many), many...)), "", "bytes that are fetched, unpacked", false},
		{"a bomb of differences", instead(packOf(2, blobOf([]byte("x")),
			packEntry{offsetEntry, "\x0a", []byte("\x01\x80\x80\x80\x80\x40\x01x"), 8})), "", "an object of more than", false},
	}
}

// Each fault is met between two good commits, where the references are asked for and
// where the pack is.
func TestGitServerFaults(t *testing.T) {
	o := newOrigin(t)
	rows := [][]string{{"fault", "said when the references are asked for", "said when the commit is"}}
	for _, f := range gitFaults(o) {
		rows = append(rows, []string{f.name, f.refs, f.pack})
		for method, want := range map[string]string{http.MethodGet: f.refs, http.MethodPost: f.pack} {
			step := map[string]string{http.MethodGet: "the references", http.MethodPost: "the pack"}[method]
			if want == "" {
				continue
			}
			t.Run(f.name+"/"+step, func(t *testing.T) {
				t.Parallel()
				at, dir := o.copy(t), t.TempDir()
				server := serveGitBelow(t, filepath.Dir(at.dir))
				r := git.Open(faultOptions(t, server.URL, dir, f.slow))
				times := 2
				if f.slow {
					times = 1
				}
				survives(t, r, "git+"+server.URL, dir, want, times, func() {
					at.point(at.second)
					fault := func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
						if r.Method != method {
							return false
						}
						// A server hears of an end no sooner than it has read the request.
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
	documented(t, rows)
}

// documented wants the table of the faults that are tried in the README, whole.
func documented(t *testing.T, rows [][]string) {
	t.Helper()
	readme, err := os.ReadFile("../../../bundles/README.md")
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
	if !strings.Contains(string(readme), table+"\n") {
		t.Errorf("bundles/README.md has not this table:\n%s", table)
	}
}

func faultOptions(t *testing.T, url, dir string, slow bool) git.Options {
	t.Helper()
	o := git.Options{Location: at(t, "git+"+url+"/policies.git//p?ref=main"), Dir: dir, MaxFetch: mostFetched}
	if slow {
		o.Stall, o.Timeout = time.Second, 1500*time.Millisecond
	}
	return o
}
