package editor

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const role = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

const binding = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers, namespace: shop}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "𝒜lice"}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
`

// A session as an editor has it: typing, questions, saving, the end.
func TestSession(t *testing.T) {
	t.Parallel()
	c := begin(t, map[string]string{"policies/role.yaml": role, "policies/bind.yaml": binding}, "policies")
	var server struct {
		Capabilities struct{ PositionEncoding string }
		ServerInfo   struct{ Name string }
	}
	if err := json.Unmarshal(c.initialize(), &server); err != nil || server.Capabilities.PositionEncoding != "utf-16" || server.ServerInfo.Name != "writ" {
		t.Fatalf("got %+v, %v", server, err)
	}
	const bind = "policies/bind.yaml"
	c.open(bind, binding)
	c.change(bind, 4, 65, 71, "raeder")
	p := c.codes(bind, "dangling-role")
	if got, want := compact(t, p.Diagnostics[0].Range), text(t, between(4, 65, 71)); got != want || p.Version != 2 || p.Diagnostics[0].Severity != 1 {
		t.Errorf("got %s, %+v; want %s", got, p, want)
	}
	hover := string(c.ask("textDocument/hover", c.place(bind, 4, 67)))
	if !strings.Contains(hover, "**dangling-role**") || !strings.Contains(hover, "For example:") {
		t.Errorf("got %s", hover)
	}
	if got := string(c.ask("textDocument/hover", c.place(bind, 0, 0))); got != "null" {
		t.Errorf("got %s, want no explanation", got)
	}
	c.change(bind, 4, 65, 71, "re")
	var items []struct {
		Label    string
		TextEdit struct {
			Range   json.RawMessage
			NewText string
		}
	}
	if err := json.Unmarshal(c.ask("textDocument/completion", c.place(bind, 4, 67)), &items); err != nil {
		t.Fatal(err)
	}
	if len(items) != 1 || items[0].TextEdit.NewText != "reader" || compact(t, items[0].TextEdit.Range) != text(t, between(4, 65, 67)) {
		t.Errorf("got %+v, want the role", items)
	}
	c.change(bind, 4, 65, 67, "reader")
	c.codes(bind, "")
	declared := fmt.Sprintf(`[{"uri":%q,"range":%s}]`, c.uri("policies/role.yaml"), text(t, between(2, 17, 23)))
	if got := compact(t, c.ask("textDocument/definition", c.place(bind, 4, 66))); got != compact(t, []byte(declared)) {
		t.Errorf("got %s, want %s", got, declared)
	}
	if got := string(c.ask("textDocument/references", c.place("policies/role.yaml", 2, 18))); strings.Count(got, `"uri"`) != 2 || !strings.Contains(got, "bind.yaml") {
		t.Errorf("got %s, want the binding and the role", got)
	}
	// Characters beyond 16 bits are two units: a field after one is where the editor shows it.
	const before = `subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "AAlice"`
	c.change(bind, 3, len(before), len(before), ", namespce: x")
	p = c.codes(bind, "unknown-field")
	if got, want := compact(t, p.Diagnostics[0].Range), text(t, between(3, len(before)+2, len(before)+10)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// A file that is not open is read again when it is stored.
	if err := os.WriteFile(filepath.Join(c.dir, "policies", "role.yaml"), []byte(strings.Replace(role, "verbs", "verb", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.codes("policies/role.yaml", "missing,unknown-field")
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(bind)}})
	c.codes(bind, "")
	if got := string(c.ask("shutdown", nil)); got != "null" {
		t.Errorf("shutdown: got %s", got)
	}
	c.notify("exit", nil)
	if status := c.end(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

func compact(t *testing.T, value json.RawMessage) string {
	t.Helper()
	var any any
	if err := json.Unmarshal(value, &any); err != nil {
		t.Fatalf("%v: %s", err, value)
	}
	return text(t, any)
}

// What is not valid is answered or ignored, and the session goes on.
func TestWhatIsNotValid(t *testing.T) {
	t.Parallel()
	c := begin(t, map[string]string{"role.yaml": role})
	code := func(what string, id, want int) {
		t.Helper()
		if m := c.response(id); m.Error == nil || m.Error.Code != want {
			t.Errorf("%s: got %+v, want error %d", what, m, want)
		}
	}
	code("a request before initialize", c.request("textDocument/hover", c.place("role.yaml", 0, 0)), -32002)
	c.initialize()
	c.codes("role.yaml", "unbound-role")
	for _, body := range []string{"{", "not JSON", `{"jsonrpc":"2.0","id":`, ""} {
		c.raw(body)
		if m := c.next("a parse error", func(m message) bool { return m.Error != nil }); m.Error.Code != -32700 {
			t.Errorf("%q: got %+v", body, m)
		}
	}
	code("a second initialize", c.request("initialize", map[string]any{}), -32600)
	code("an unknown method", c.request("textDocument/rename", map[string]any{}), -32601)
	code("params of another type", c.request("textDocument/hover", []int{1}), -32602)
	code("no params", c.request("textDocument/hover", nil), -32602)
	c.notify("$/unknown", map[string]any{})
	c.notify("textDocument/didChange", map[string]any{"textDocument": 1})
	c.change("role.yaml", 0, 0, 0, "not open")
	c.notify("$/cancelRequest", map[string]any{"id": 99})
	for _, place := range [][2]int{{-1, -1}, {0, 1 << 30}, {1 << 20, 0}} {
		c.ask("textDocument/hover", c.place("role.yaml", place[0], place[1]))
		c.ask("textDocument/definition", c.place("role.yaml", place[0], place[1]))
		c.ask("textDocument/completion", c.place("role.yaml", place[0], place[1]))
	}
	c.open("role.yaml", role)
	c.change("role.yaml", 1<<20, 5, 2, "# at the end\n")
	c.change("role.yaml", -1, -5, -2, "")
	for _, place := range [][2]int{{-1, -1}, {0, 1 << 30}, {1 << 20, 0}} {
		c.ask("textDocument/completion", c.place("role.yaml", place[0], place[1]))
	}
	c.open("../outside.yaml", "kind: [")
	c.ask("textDocument/hover", c.place("../outside.yaml", 0, 0))
	c.ask("shutdown", nil)
	code("a request after shutdown", c.request("textDocument/hover", c.place("role.yaml", 0, 0)), -32600)
	c.notify("exit", nil)
	if status := c.end(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// An editor that ends without shutdown, by exit or by closing the pipe, is status 1.
func TestEndWithoutShutdown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*client){
		"exit":      func(c *client) { c.notify("exit", nil) },
		"the pipe":  func(c *client) { c.in.Close() },
		"a header":  func(c *client) { fmt.Fprint(c.in, "Content-Length: many\r\n\r\n") },
		"too large": func(c *client) { fmt.Fprint(c.in, "Content-Length: 99999999999\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, map[string]string{"role.yaml": role})
			c.initialize()
			end(c)
			if status := c.end(); status != 1 {
				t.Errorf("exit status %d, want 1", status)
			}
		})
	}
}

// A directory that is not there refuses to initialize, with a message for people.
func TestNoDirectory(t *testing.T) {
	t.Parallel()
	c := begin(t, nil, "policies")
	m := c.response(c.request("initialize", map[string]any{"rootUri": c.uri(".")}))
	if m.Error == nil || !strings.Contains(m.Error.Message, "no such directory") {
		t.Errorf("got %+v", m)
	}
}

var budget = flag.Duration("budget", 10*time.Second, "how long a diagnostic may take in a directory of 10,000 documents")

// In a directory of 10,000 documents a mistake shows soon after its key. The figure is that
// of a quiet machine without the race detector; the bound is for a slow and busy one.
func TestTenThousandDocuments(t *testing.T) {
	t.Parallel()
	files := map[string]string{"open.yaml": role}
	for folder := range 100 {
		var all strings.Builder
		for i := range 50 {
			name := fmt.Sprintf("d%d-%d", folder, i)
			fmt.Fprintf(&all, "---\n%s---\n%s", strings.ReplaceAll(role, "reader", name), strings.ReplaceAll(binding, "reader", name))
		}
		files[fmt.Sprintf("folder%d/all.yaml", folder)] = all.String()
	}
	c := begin(t, files)
	c.initialize()
	c.open("open.yaml", role)
	c.codes("open.yaml", "unbound-role")
	var took []time.Duration
	for range 20 {
		start := time.Now()
		c.change("open.yaml", 1, 6, 10, "Rolle")
		c.codes("open.yaml", "unknown-kind")
		took = append(took, time.Since(start))
		c.change("open.yaml", 1, 6, 11, "Role")
		c.codes("open.yaml", "unbound-role")
	}
	slices.Sort(took)
	t.Logf("from key to diagnostic: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	if median := took[len(took)/2]; median > *budget {
		t.Errorf("from key to diagnostic: %v, want %v", median, *budget)
	}
	// Keys that come faster than analyses end in one analysis of the last text; a request
	// that is cancelled gets a response.
	for range 200 {
		c.change("open.yaml", 1, 6, 6, "X")
	}
	c.codes("open.yaml", "unknown-kind")
	c.change("open.yaml", 1, 6, 206, "")
	c.codes("open.yaml", "unbound-role")
	c.change("open.yaml", 0, 0, 0, "")
	id := c.request("textDocument/hover", c.place("open.yaml", 1, 7))
	c.notify("$/cancelRequest", map[string]any{"id": id})
	if m := c.response(id); m.Error != nil && m.Error.Code != -32800 {
		t.Errorf("got %+v", m)
	}
	c.ask("shutdown", nil)
	c.notify("exit", nil)
	if status := c.end(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}
