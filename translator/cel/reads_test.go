package cel

import (
	"fmt"
	"testing"
)

func TestReads(t *testing.T) {
	for text, want := range map[string]string{
		`true`:                    "",
		`request.method == "GET"`: "request.method",
		`request.headers["x-a"] == source.address`:                       "request.headers.x-a source.address",
		`request["headers"]["x-a"].startsWith("a")`:                      "request.headers.x-a",
		`has(auth.identity.sub) && size(auth.identity.groups) > 1`:       "auth.identity.sub auth.identity.groups",
		`auth.identity.groups.exists(g, g == request.host)`:              "auth.identity.groups request.host",
		`auth.identity.groups.all(request, request.name == "a")`:         "auth.identity.groups request.name",
		`auth.identity.groups[0]`:                                        "auth.identity.groups",
		`request.headers[request.method]`:                                "request.headers request.method",
		`{"a": request.path, request.host: [metadata.b]}.size() > 0`:     "request.path request.host metadata.b",
		`request.path.matches(request.query) ? source.port : route.name`: "request.path request.query source.port route.name",
		`timestamp(request.time).getHours() < 9`:                         "request.time",
		`[1].exists(request, .request.path == "a")`:                      "request.path",
		`[1].all(request, request == 1 && .request["time"] == "x")`:      "request request.time",
		`request == context`:                                             "request context",
		`[request][0].time == "x"`:                                       "request",
	} {
		paths, ok := Reads(text, Gateway)
		got := ""
		for i, path := range paths {
			if i > 0 {
				got += " "
			}
			for j, step := range path {
				if j > 0 {
					got += "."
				}
				got += step
			}
		}
		if !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{`1 +`, `unknown.a`} {
		if paths, ok := Reads(text, Gateway); ok {
			t.Error(text, fmt.Sprint(paths), "want a problem")
		}
	}
}
