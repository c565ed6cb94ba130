// Package roads compares the roads to a decision: a question that several endpoints and commands
// can state has one answer on all of them, whatever is cached, and before and after an edit of the
// documents and the end of a session.
package roads

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server"
	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// patience is how long a test waits for a server on a busy machine.
const patience = time.Minute

// site is two servers with the same documents, clusters and clock. One keeps decisions, and has
// all roads; the other one keeps none, and makes the decisions that the roads are compared with.
type site struct {
	*testing.T
	random.Source
	dir, clusters string
	files         map[string]string
	labels        map[string]map[string]string // of the clusters in the file
	tenants       map[string]string
	tokens        map[string]string // of callers
	clock         atomic.Int64
	kept, plain   string
	counts        map[string]int // of comparisons, by road
}

// newSite returns the servers of some documents.
func newSite(t *testing.T, seed uint64, clusters []string, files map[string]string, callers ...caller) *site {
	t.Helper()
	s := &site{T: t, Source: random.New(seed, 31), dir: t.TempDir(), counts: make(map[string]int)}
	s.writeClusters(clusters)
	s.put(files)
	c := server.Defaults()
	c.Policies, c.Listen, c.Settle, c.AllowEmpty = []string{s.dir}, "127.0.0.1:0", 0, true
	c.Clusters.File, c.Now = s.clusters, s.now
	c.Timeouts.Drain, c.Timeouts.Grace = 0, time.Second
	if len(callers) > 0 {
		c.Callers.Auditors, c.Callers.Tokens = []string{auditors}, s.writeTokens(callers)
	}
	s.kept = s.serve(c)
	c.Callers.Auditors, c.Callers.Tokens = nil, ""
	c.Cache.Entries, c.Cache.VisibilityEntries = 0, 0
	s.plain = s.serve(c)
	return s
}

func (s *site) now() time.Time { return time.Unix(0, s.clock.Load()).UTC() }

func (s *site) at(now time.Time) { s.clock.Store(now.UnixNano()) }

// writeClusters writes the clusters file, with labels that the documents of views name.
func (s *site) writeClusters(names []string) {
	s.Helper()
	s.labels, s.tenants = make(map[string]map[string]string), make(map[string]string)
	var list []any
	for _, name := range names {
		labels := map[string]string{"env": s.One([]string{"prod", "prod", "blue", ""})}
		s.labels[name], s.tenants[name] = labels, s.One([]string{"bank", "shop-1", ""})
		isDefault := name == names[0]
		list = append(list, map[string]any{"name": name, "labels": labels, "tenant": s.tenants[name], "default": isDefault})
	}
	s.clusters = filepath.Join(s.TempDir(), "clusters.yaml")
	if err := os.WriteFile(s.clusters, encode(map[string]any{"clusters": list}), 0o600); err != nil {
		s.Fatal(err)
	}
}

// edit replaces the documents, and waits until both servers serve them.
func (s *site) edit(files map[string]string) {
	s.Helper()
	s.put(files)
	s.settle(files)
}

// put writes documents in place of others.
func (s *site) put(files map[string]string) {
	s.Helper()
	for path := range s.files {
		if _, kept := files[path]; kept {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, filepath.FromSlash(path))); err != nil {
			s.Fatal(err)
		}
	}
	for path, content := range files {
		s.putFile(path, content)
	}
	s.files = files
}

// caller is a user who asks about itself. auditor is the token for questions about others.
type caller struct {
	user   string
	groups []string
}

// canAsk reports whether a file of tokens can have the caller.
func (c *caller) canAsk() bool {
	isAbsent := func(group string) bool { return group == "" || strings.Contains(group, ",") }
	return c.user != "" && !slices.ContainsFunc(c.groups, isAbsent)
}

func (c *caller) key() string { return fmt.Sprintf("%q", append([]string{c.user}, c.groups...)) }

const (
	auditor  = "t-auditor"
	auditors = "auditors"
)

func (s *site) writeTokens(callers []caller) (path string) {
	s.Helper()
	var text strings.Builder
	table := csv.NewWriter(&text)
	rows := [][]string{{auditor, "auditor", "0", auditors}}
	s.tokens = make(map[string]string)
	for i, c := range callers {
		token := fmt.Sprintf("t-%d", i)
		s.tokens[c.key()] = token
		rows = append(rows, []string{token, c.user, fmt.Sprint(i + 1), strings.Join(c.groups, ",")})
	}
	path = filepath.Join(s.TempDir(), "tokens.csv")
	err := table.WriteAll(rows)
	if err = errors.Join(err, os.WriteFile(path, []byte(text.String()), 0o600)); err != nil {
		s.Fatal(err)
	}
	return path
}

// putFile writes a file of documents.
func (s *site) putFile(path, content string) {
	s.Helper()
	whole, to := filepath.Join(s.TempDir(), "put"), filepath.Join(s.dir, filepath.FromSlash(path))
	err := os.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = os.WriteFile(whole, []byte(content), 0o600)
	}
	if err == nil {
		err = os.Rename(whole, to)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// serve runs a server, and returns its address.
func (s *site) serve(c server.Config) string {
	s.Helper()
	listening := make(chan net.Addr, 1)
	c.Listening = func(a net.Addr) { listening <- a }
	running, err := server.New(c)
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	s.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	select {
	case a := <-listening:
		return "http://" + a.String()
	case err := <-ended:
		ended <- err
		s.Fatal(err)
	}
	return ""
}

// settle waits until both servers serve the documents of files.
func (s *site) settle(files map[string]string) {
	s.Helper()
	var snapshot source.Snapshot
	for path, content := range files {
		snapshot.Files = append(snapshot.Files, source.NewFile(path, []byte(content)))
	}
	slices.SortFunc(snapshot.Files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(s.Context(), snapshot)
	if result == nil {
		s.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, base := range []string{s.kept, s.plain} {
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			status, body := s.send("GET", base+"/v1/status", "", nil)
			var shown struct{ Revision string }
			if status == http.StatusOK && json.Unmarshal(body, &shown) == nil && shown.Revision == b.Manifest.Revision {
				break
			}
			if time.Now().After(end) {
				s.Fatalf("%s: got %d %.2000s, want the revision %s", base, status, body, b.Manifest.Revision)
			}
		}
	}
}

// send sends a request. What a busy server refuses, or does not decide in time, is asked again.
func (s *site) send(method, url, media string, body []byte) (int, []byte) {
	s.Helper()
	return s.sendAs(auditor, method, url, media, body)
}

// sendAs is send with a token.
func (s *site) sendAs(token, method, url, media string, body []byte) (int, []byte) {
	s.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		r, err := http.NewRequestWithContext(s.Context(), method, url, bytes.NewReader(body))
		if err != nil {
			s.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if media != "" {
			r.Header.Set("Content-Type", media)
		}
		if strings.Contains(url, "/v1/compile/") {
			r.Header.Set("Accept", "application/vnd.opa.ucast.all+json")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			s.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			s.Fatal(err)
		}
		isLate := answer.StatusCode == http.StatusServiceUnavailable || bytes.Contains(text, []byte("took too long"))
		if !isLate || time.Now().After(end) {
			return answer.StatusCode, text
		}
	}
}

// post posts JSON to the server that has all roads, and decodes an answer with status 200.
func (s *site) post(path string, body any) (int, any) {
	s.Helper()
	status, text := s.send("POST", s.kept+path, "application/json", encode(body))
	if status != http.StatusOK {
		return status, string(text)
	}
	return status, decode(s.T, text)
}

// ask is post for a question that has an answer.
func (s *site) ask(path string, body any) any {
	s.Helper()
	status, answer := s.post(path, body)
	if status != http.StatusOK {
		s.Fatalf("%s %s: got %d %s", path, encode(body), status, answer)
	}
	return answer
}

// decide returns the decision that roads are compared with. The second value is false for a
// request that is not valid.
func (s *site) decide(point string, request any) (any, bool) {
	s.Helper()
	status, text := s.send("POST", s.plain+"/v1/decisions/"+point, "application/json", encode(request))
	if status != http.StatusOK {
		return string(text), false
	}
	return decode(s.T, text), true
}

// same compares the answer of a road with the decision on a request.
func (s *site) same(road string, request, got, want any) {
	s.Helper()
	s.counts[road]++
	if s.counts["disagree "+road] > 2 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		s.counts["disagree "+road]++
		at := s.now().Format(time.RFC3339Nano)
		s.Errorf("%s, at %s: %s\ngot  %s\nwant %s", road, at, encode(request), encode(got), encode(want))
	}
}

// check fails if an answer of the roads that a point has, or of others, was never compared.
func (s *site) check(counts map[string]int, point string, others ...string) {
	s.Helper()
	roads := []string{"decision", "batch", "lines", "data", "explanation", "what-if", "page", "command line", "replay", "log"}
	for i, road := range roads {
		roads[i] = point + " " + road
	}
	for _, road := range append(roads, others...) {
		if counts[road] == 0 {
			s.Errorf("no answer of %q was compared: %v", road, counts)
		}
	}
}

func encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // values of JSON
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// decode decodes JSON, and keeps the digits of numbers.
func decode(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	return value
}

// members returns those of a value that is an object, none for any other.
func members(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// with returns a copy of an object with other members; nil removes one.
func with(object map[string]any, changes map[string]any) map[string]any {
	out := make(map[string]any)
	maps.Copy(out, object)
	for key, value := range changes {
		if out[key] = value; value == nil {
			delete(out, key)
		}
	}
	return out
}
