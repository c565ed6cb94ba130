package page

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// FuzzEscape puts a text where documents and requests have names: no template prints it
// as markup.
func FuzzEscape(f *testing.F) {
	for _, seed := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onmouseover='x`, `javascript:alert(1)`, "</title><svg/onload=x>",
		"`", "{{.}}", "&lt;", "\u2028", "</textarea><b>", "--><b>", "%3Cb%3E", "a b", "\x00",
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
			checkElements(t, tt.name, w.Body.String())
		}
	})
}

// elements are those that templates have.
var elements = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`a body button br circle code datalist dd details dialog div dl dt figcaption figure footer form g h1 h2 h3 head
		header html img input kbd label li link main meta nav ol option p path polygon polyline pre rect script section select small span strong
		summary svg table tbody td text textarea tfoot th thead time title tr ul`) {
		elements[name] = true
	}
}

// checkElements checks that a document has no element, handler or address of a text.
func checkElements(t *testing.T, name, document string) {
	t.Helper()
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
		if !elements[token.Data] {
			t.Errorf("%s: element %s", name, token.Data)
		}
		if token.Data == "script" {
			scripts++
		}
		for _, a := range token.Attr {
			isAddress := a.Key == "href" || a.Key == "src" || a.Key == "action"
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || isAddress && !strings.HasPrefix(a.Val, "/page/") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "/v1/") {
				t.Errorf("%s: attribute %s=%q", name, a.Key, a.Val)
			}
		}
	}
	if scripts != 2 {
		t.Errorf("%s: %d scripts, want 2", name, scripts)
	}
}
