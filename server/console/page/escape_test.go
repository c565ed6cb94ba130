package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// FuzzEscape puts a text where documents and requests have names: no view prints it as
// markup.
func FuzzEscape(f *testing.F) {
	for _, seed := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onmouseover='x`, `javascript:alert(1)`, `data:text/html,<b>`, `//evil.example/`, "</title><svg/onload=x>",
		"`", "{{.}}", "&lt;", "\u2028", "</textarea><b>", "--><b>", "%3Cb%3E", "a b", "\x00", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Skip()
		}
		o := options(t)
		r := record(t)
		for name, answer := range r.answers {
			for _, word := range []string{"hammer", "Edgar", "fatFingeredEditor", "dangling-role", "protected", "hostNetwork", "projects-stay", "admni", "stock/origin"} {
				answer = bytes.ReplaceAll(answer, []byte(word), quoted[1:len(quoted)-1])
			}
			r.answers[name] = answer
		}
		o.Console = r
		h := New(o)
		for _, tt := range shown {
			u, err := url.Parse(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			query := u.Query()
			for name := range query {
				if name == "name" || name == "user" {
					query.Set(name, text)
				}
			}
			u.RawQuery = query.Encode()
			w := get(h, u.String())
			if w.Code == http.StatusFound { // the address without a text that is empty
				w = get(h, w.Header().Get("Location"))
			}
			checkElements(t, tt.name, w.Body.String())
		}
	})
}

// inFiles are files of the recorded answers, and their lines.
var inFiles = regexp.MustCompile(`"[\w/.-]+\.yaml((:\d+)*")`)

// Documents may be in files that are called like scripts and hosts: links lead to the view of
// the file all the same.
func TestAddressesOfDocuments(t *testing.T) {
	for _, file := range []string{"javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "//evil.example/a.yaml", " javascript:alert(1)"} {
		o := options(t)
		r := record(t)
		for name, answer := range r.answers {
			r.answers[name] = inFiles.ReplaceAll(answer, []byte(`"`+file+`$1`))
		}
		o.Console = r
		h := New(o)
		links := 0
		for _, tt := range shown {
			document := get(h, tt.target).Body.String()
			checkElements(t, tt.name, document)
			links += strings.Count(document, `href="`+html.EscapeString((&url.URL{Path: "/page/documents/" + file}).EscapedPath()))
		}
		if links < 20 {
			t.Errorf("%s: %d links lead to the file, want more", file, links)
		}
	}
}

// knownElements are those that views have.
var knownElements = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`a body button br circle code datalist dd defs details dialog div dl dt figcaption figure footer form g h1 h2 h3 head
		header html img input kbd label li link main marker meta nav ol option p path polygon polyline pre rect script section select small span strong
		summary svg table tbody td text textarea tfoot th thead time title tr ul wbr`) {
		knownElements[name] = true
	}
}

// checkElements checks that a document has no element, handler or address of a text.
func checkElements(t *testing.T, name, document string) {
	t.Helper()
	for _, fault := range foreignMarkup(document) {
		t.Errorf("%s: %s", name, fault)
	}
}

// foreignMarkup returns what views do not have.
func foreignMarkup(document string) (faults []string) {
	z := html.NewTokenizer(strings.NewReader(document))
	scripts := 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := z.Token()
		if !knownElements[token.Data] {
			faults = append(faults, "element "+token.Data)
		}
		if token.Data == "script" {
			scripts++
		}
		for _, a := range token.Attr {
			isAddress := a.Key == "href" || a.Key == "src" || a.Key == "action"
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || isAddress && !strings.HasPrefix(a.Val, "/page/") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "/v1/") {
				faults = append(faults, fmt.Sprintf("attribute %s=%q", a.Key, a.Val))
			}
		}
	}
	if scripts != 2 {
		faults = append(faults, fmt.Sprintf("%d scripts, want 2", scripts))
	}
	return faults
}

// A view that prints a name raw is found.
func TestForeignMarkup(t *testing.T) {
	const scripts = `<script src="/page/assets/a.js"></script><script src="/page/assets/b.js"></script>`
	for name, want := range map[string]string{
		"ada": "", `<b>ada</b>`: "element b", `<img src=x onerror=alert(1)>`: `attribute src="x"`, `<a href="javascript:alert(1)">`: `attribute href="javascript:alert(1)"`,
		`<script>alert(1)</script>`: "3 scripts, want 2", `<p style="color:red">`: `attribute style="color:red"`,
	} {
		if got := foreignMarkup(scripts + "<p>" + name + "</p>"); (want == "") != (len(got) == 0) || want != "" && got[0] != want {
			t.Errorf("%s printed raw: got %q, want %q", name, got, want)
		}
	}
}
