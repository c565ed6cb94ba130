package page

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/golden"
)

var update = flag.Bool("update", false, "rewrite golden files")

// get asks a handler as a browser does that was given an address.
func get(h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	return send(h, http.MethodGet, target, "", header...)
}

func send(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8686"
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// shown are views with recorded answers, by the name of their golden file.
var shown = []struct{ name, target string }{
	{"overview", "/page/"},
	{"ask-empty", "/page/ask"},
	{"ask", "/page/ask?" + url.Values{"user": {"Edgar"}, "verb": {"delete"}, "resource": {"deploymentconfigs"}, "namespace": {"hammer"}, "labels": {"protected: yes"}}.Encode()},
	{"ask-pod", "/page/ask?user=priya&groups=shop-developers&verb=create&resource=pods&subresource=exec&namespace=shop&pod=%7B%7D"},
	{"ask-invalid", "/page/ask?user=ada&verb=refuse-me&resource=pods&labels=%5B"},
	{"ask-refused", "/page/ask?user=ada&verb=refuse-me&resource=pods"},
	{"ask-visibility", "/page/ask/visibility?user=alice&clusterName=east&type=pods"},
	{"ask-gateway", "/page/ask/gateway?host=books.example.com&method=PUT&path=%2F7&identity=%7Bsub%3A+ann%7D&gateway=net%2Fedge"},
	{"who-can", "/page/who-can?resource=deploymentconfigs&namespace=hammer"},
	{"who-can-empty", "/page/who-can"},
	{"who-can-none", "/page/who-can?resource=unicorns"},
	{"what-can", "/page/who-can?of=what&subject=user%3AEdgar"},
	{"subject", "/page/who-can/subject?subject=Edgar"},
	{"subject-empty", "/page/who-can/subject"},
	{"subject-stranger", "/page/who-can/subject?subject=stranger"},
	{"role", "/page/who-can/role?role=hammer%2FfatFingeredEditor"},
	{"role-empty", "/page/who-can/role"},
	{"role-missing", "/page/who-can/role?role=shop%2Fnone"},
	{"risks", "/page/risks"},
	{"risks-code", "/page/risks?code=risk-read-secrets&severity=low&after=50"},
	{"risks-none", "/page/risks?subject=stranger&severity=high&code=risk-exec"},
	{"risks-pending", "/page/risks?subject=pending"},
	{"reach", "/page/reach?from=group%3Adev&to=cluster-admin"},
	{"reach-empty", "/page/reach"},
	{"reach-none", "/page/reach?from=user%3Astranger"},
	{"reach-wrong", "/page/reach?from=stranger"},
	{"sessions", "/page/sessions"},
	{"sessions-stranger", "/page/sessions?user=stranger&state=ended&after=50"},
	{"sessions-none", "/page/sessions?cluster=none"},
	{"documents", "/page/documents"},
	{"document", "/page/documents/hammer/protected.yaml?line=8"},
	{"document-missing", "/page/documents/none.yaml"},
	{"inheritance", "/page/inheritance?kind=RateLimitPolicy"},
	{"changes", "/page/changes"},
	{"changes-diff", "/page/changes?from=e2bb4c7c9f77&to=6ab23137e6c3"},
	{"changes-same", "/page/changes?from=6ab23137e6c3&to=6ab23137e6c3"},
	{"changes-pending", "/page/changes?from=d51dc1a1ce0f&to=6ab23137e6c3"},
	{"proposal-empty", "/page/changes/proposal"},
	{"assertions", "/page/assertions"},
	{"assertions-only", "/page/assertions?only=1"},
	{"log", "/page/log"},
	{"log-empty", "/page/log?user=stranger&follow=1"},
}

// hashes are in the names of assets.
var hashes = regexp.MustCompile(`\.[0-9a-f]{12}\.`)

// blocks begin a line of a golden file; documents are without ends of lines.
var blocks = regexp.MustCompile(`><(head|meta|title|link|script|body|header|main|nav|div|section|form|figure|table|tbody|tr|h2|ul|ol|li|dt|p|pre|details|dialog|/table|/section|/main)\b`)

// main is what a view has inside the frame that all of them share.
var main = regexp.MustCompile(`(?s)<main.*</main>\n`)

// own is what differs in the frame: the title, and the view that the navigation marks.
var own = regexp.MustCompile(`<title>.*</title>\n| aria-current="page"`)

// A golden file is the frame of all views, or what one of them has inside it below its title and
// its link in the navigation.
func TestViews(t *testing.T) {
	h := New(options(t))
	for _, tt := range shown {
		w := get(h, tt.target)
		document := hashes.ReplaceAllString(blocks.ReplaceAllString(w.Body.String(), ">\n<$1")+"\n", ".HASH.")
		frame := own.ReplaceAllString(main.ReplaceAllString(document, "MAIN\n"), "")
		around, _, _ := strings.Cut(document, "<main")
		marked := regexp.MustCompile(`<title>.*\n|<li><a href="[^"]*" data-key="." aria-current="page"`).FindAllString(around, -1)
		golden.Compare(t, "testdata/frame.html", []byte(frame), *update)
		golden.Compare(t, "testdata/"+tt.name+".html", []byte(strings.Join(marked, "")+"\n"+main.FindString(document)), *update)
		checkForm(t, tt.name, w.Body.String())
	}
}

// checkForm checks what holds in every view: one heading and one main, no inline script
// or style, and a label for each field.
func checkForm(t *testing.T, name, document string) {
	t.Helper()
	for _, fault := range faults(document) {
		t.Errorf("%s: %s", name, fault)
	}
}

var (
	inlineStyle  = regexp.MustCompile(`<style|\sstyle=`)
	inlineScript = regexp.MustCompile(`<script>|\son[a-z]+=|javascript:`)
	fields       = regexp.MustCompile(`<(?:input|textarea|select)\b[^>]*>`)
	identifier   = regexp.MustCompile(`\sid="([^"]*)"`)
	completed    = regexp.MustCompile(`<input\b[^>]*\slist="([^"]*)"`)
)

func faults(document string) []string {
	var found []string
	head, _, _ := strings.Cut(document, "<body") // pictures have titles too
	for element, in := range map[string]string{"<h1": document, "<main": document, "<title>": head} {
		if strings.Count(in, element) != 1 {
			found = append(found, element+" must stand once")
		}
	}
	if inlineStyle.MatchString(document) {
		found = append(found, "a style is inline")
	}
	if inlineScript.MatchString(document) {
		found = append(found, "a script is inline")
	}
	for _, field := range fields.FindAllString(document, -1) {
		if strings.Contains(field, `type="hidden"`) || strings.Contains(field, "aria-label=") {
			continue
		}
		id := identifier.FindStringSubmatch(field)
		isWrapped := strings.Contains(document, `<label class="check">`+field)
		if !isWrapped && (id == nil || !strings.Contains(document, `<label for="`+id[1]+`"`)) {
			found = append(found, "a field has no label: "+field)
		}
	}
	for _, list := range completed.FindAllStringSubmatchIndex(document, -1) {
		if id := document[list[2]:list[3]]; !strings.Contains(document[:list[0]], `<datalist id="`+id+`"`) {
			found = append(found, "a field stands before its list, or without one: "+id)
		}
	}
	seen := make(map[string]bool)
	for _, id := range identifier.FindAllStringSubmatch(document, -1) {
		if seen[id[1]] {
			found = append(found, "an id stands twice: "+id[1])
		}
		seen[id[1]] = true
	}
	return found
}

// The guards of views fail for what they guard against.
func TestFaults(t *testing.T) {
	const sound = `<title>t</title><h1></h1><main id="m"></main><label for="a">A</label><input id="a">`
	if found := faults(sound); found != nil {
		t.Errorf("a sound document: got %q", found)
	}
	for _, tt := range []struct{ name, document, want string }{
		{"a style", sound + `<p style="color:red">`, "a style is inline"},
		{"a handler", sound + `<p onclick="x()">`, "a script is inline"},
		{"a script", sound + `<script>x()</script>`, "a script is inline"},
		{"a field without a label", sound + `<input id="b">`, `a field has no label: <input id="b">`},
		{"an id twice", sound + `<p id="a">`, "an id stands twice: a"},
		{"a list after its field", sound + `<label for="b"></label><input id="b" list="l"><datalist id="l"></datalist>`, "a field stands before its list, or without one: l"},
		{"two headings", sound + `<h1>`, "<h1 must stand once"},
	} {
		if found := faults(tt.document); len(found) != 1 || found[0] != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, found, tt.want)
		}
	}
}
