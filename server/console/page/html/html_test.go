package html

import (
	"strings"
	"testing"
)

func written(t *testing.T, n Node) string {
	t.Helper()
	var out strings.Builder
	if err := n.Render(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// An address leads to this server, whatever a document has in its place.
func TestAddressesStayOnTheServer(t *testing.T) {
	for address, want := range map[string]string{
		"/page/ask?user=a&b=1#x": "/page/ask?user=a&amp;b=1#x", "/": "/", "#top": "#top", "?a=b": "?a=b", `/a"><b>`: "/a&#34;&gt;&lt;b&gt;", "/page/javascript:alert(1)": "/page/javascript:alert(1)",
		"": "#", "javascript:alert(1)": "#", " javascript:alert(1)": "#", "JaVaScRiPt:alert(1)": "#", "java\nscript:alert(1)": "#", "\x01javascript:alert(1)": "#", "data:text/html,x": "#", "vbscript:x": "#",
		"https://evil.example/": "#", "//evil.example/": "#", `/\evil.example/`: "#", `\\evil.example/`: "#", "/\t/evil.example/": "#", "/\n/evil.example": "#", "page/": "#", "mailto:a@b": "#",
	} {
		for name, attribute := range map[string]func(string) Node{"href": Href, "action": Action, "src": Src} {
			if got, want := written(t, attribute(address)), ` `+name+`="`+want+`"`; got != want {
				t.Errorf("%q: got %s, want %s", address, got, want)
			}
		}
	}
}

// What may be a script cannot be written as any other attribute.
func TestAttributesOfScripts(t *testing.T) {
	for _, name := range []string{"onclick", "onload", "style", "href", "xlink:href", "src", "srcset", "srcdoc", "action", "formaction"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			Attrs("x", "1", name, "2")
		}()
	}
	if got, want := written(t, Div(Attrs("x", `1"><script>`, "viewBox", "0 0 1 1"), Flag("open"), Text("<a&"))), `<div x="1&#34;&gt;&lt;script&gt;" viewBox="0 0 1 1" open>&lt;a&amp;</div>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
