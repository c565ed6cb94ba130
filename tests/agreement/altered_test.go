package agreement

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
)

// asked has what asks an engine at each point.
var asked = map[string]func(*testing.T, *engine.Engine, []byte) map[string]any{
	decision.Access: embeddedDecision, decision.Visibility: embeddedView, decision.Gateway: embeddedGuard,
}

// What a changed module of a bundle means, and not what this version would have written,
// decides: a stock OPA and the engine give the same answer, and it differs from that of
// the bundle without the change. The other points are not concerned.
func TestAlteredRegoDecides(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "examples", "policies")
	result := translate(t, dir)
	requests := ownRequests(t, dir)
	for _, row := range []struct {
		name, path, was, is, point, request string
	}{
		{
			"the reason of the access point", "writ/access/reason/reason.rego", "not allowed: no rule allows %s", "nothing lets you %s",
			decision.Access, `{"user":"stranger","verb":"get","resource":"pods","namespace":"shop"}`,
		},
		{
			"a deny policy that denies more", "compiled/deny/projects-stay.rego", "	input.verb == \"delete\"\n", "",
			decision.Access, `{"user":"Clark","verb":"get","resource":"namespaces","namespace":"hammer","name":"hammer"}`,
		},
		{
			"the order of decisions", "writ/access/access.rego", "_effect == \"allow\"", "_effect == \"none\"",
			decision.Access, `{"user":"stranger","verb":"get","resource":"pods","namespace":"shop"}`,
		},
		{
			"a module beside those of the library", "writ/access/deny/more.rego", "", "package writ.access.deny\n\nextra := true\n",
			decision.Access, "",
		},
		{
			"the reason of the visibility point", "writ/visibility/authorization.rego", "No matching policies found", "You are not invited",
			decision.Visibility, `{"user":"stranger","cluster":{"name":"prod-eu-1"}}`,
		},
		{
			"the clusters of a visibility policy", "compiled/visibility/dashboard-hammer.rego", `== "prod"`, `== "test"`,
			decision.Visibility, `{"user":"hammer-dev","groups":["hammer"],"cluster":{"name":"x","labels":{"env":"prod"}},"type":"pods","items":[{"name":"a","namespace":"hammer"}]}`,
		},
		{
			"the reason of the gateway point", "writ/gateway/gateway.rego", "no path: no listener and route of the gateway take this request", "nothing is here",
			decision.Gateway, `{"request":{"host":"other.example.com","method":"GET","path":"/"}}`,
		},
		{
			"a comparison of a gateway policy", "compiled/gateway/authpolicy-net-edge.rego", "203.0.113.9", "203.0.113.8",
			decision.Gateway, `{"request":{"host":"books.example.com","method":"GET","path":"/7"},"auth":{"identity":{"sub":"ann","groups":["readers"]}},"source":{"address":"203.0.113.9"}}`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			whole, library := *result, rego.Files()
			whole.Files = maps.Clone(result.Files)
			files := library
			if _, found := whole.Files[row.path]; found {
				files = whole.Files
			}
			text := strings.Replace(string(files[row.path]), row.was, row.is, 1)
			if text == string(files[row.path]) {
				t.Fatalf("%s has no %q", row.path, row.was)
			}
			files[row.path] = []byte(text)
			altered, err := bundles.Build(&whole, bundles.BuildOptions{Library: library})
			if err != nil {
				t.Fatal(err)
			}
			altered = readAgain(t, altered)
			got, err := engine.Activate(t.Context(), altered, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if points := slices.Collect(maps.Keys(got.Loaded().ByOPA)); !slices.Equal(points, []string{row.point}) {
				t.Errorf("by OPA: got %q, want %s alone", got.Loaded().ByOPA, row.point)
			}
			list := requests[row.point]
			if row.request != "" {
				list = append(slices.Clone(list), json.RawMessage(row.request))
			}
			c := &comparison{bundle: altered, stock: newStock(t, altered, noTests, row.point)}
			for i, want := range c.answers(t, row.point, timed(list)) {
				if of := asked[row.point](t, got, list[i]); !reflect.DeepEqual(of, want) {
					t.Errorf("%s\nOPA    %v\nengine %v", list[i], want, of)
				}
			}
			if row.request == "" {
				return
			}
			plain, err := bundles.Build(result, bundles.BuildOptions{})
			if err != nil {
				t.Fatal(err)
			}
			before, err := engine.Activate(t.Context(), plain, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if of := asked[row.point](t, before, []byte(row.request)); reflect.DeepEqual(of, asked[row.point](t, got, []byte(row.request))) {
				t.Errorf("the change changes no answer: %v", of)
			}
		})
	}
}

// A decision that OPA makes of another Rego is not kept for a request that only the
// documents cannot tell apart, nor for a revision with that Rego changed.
func TestAlteredRegoIsAskedAgain(t *testing.T) {
	t.Parallel()
	result := translate(t, filepath.Join("..", "..", "examples", "policies"))
	library := rego.Files()
	const path = "writ/access/reason/reason.rego"
	library[path] = bytes.Replace(library[path], []byte("no rule allows %s\", [_asked]"), []byte("no rule allows %s to %s\", [input.user, _asked]"), 1)
	altered, err := bundles.Build(result, bundles.BuildOptions{Library: library})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), altered, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ann, bea := decode(t, `{"user":"ann","verb":"get","resource":"pods"}`), decode(t, `{"user":"bea","verb":"get","resource":"pods"}`)
	if bytes.Equal(e.AccessKey(nil, ann), e.AccessKey(nil, bea)) {
		t.Error("requests of two users have one key, and the Rego reads the user")
	}
	if got := e.Access(t.Context(), ann).Reason; !strings.Contains(got, "ann") {
		t.Errorf("got the reason %q", got)
	}
	next, err := engine.Activate(t.Context(), plain, engine.Options{Last: e})
	if err != nil {
		t.Fatal(err)
	}
	if next.Keeps(ann, &decision.Decision{Revision: e.Loaded().Revision}, e.AccessKey(nil, ann)) {
		t.Error("the decision by the other Rego is kept")
	}
}

// A bundle that another version of writ built decides as its own Rego does.
func TestEarlierBundleDecidesAsItsRego(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/earlier.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	bundle, err := bundles.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Loaded().ByOPA) != 3 {
		t.Errorf("by OPA: got %q, want all points", e.Loaded().ByOPA)
	}
	stock := newStock(t, bundle, noTests)
	for point, list := range ownRequests(t, filepath.Join("..", "..", "examples", "policies")) {
		c := &comparison{bundle: bundle, stock: stock}
		for i, want := range c.answers(t, point, timed(list)) {
			got := asked[point](t, e, list[i])
			if _, named := want["decidedBy"]; !named { // its Rego does not name lines
				delete(got, "decidedBy")
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s\nOPA    %v\nengine %v", list[i], want, got)
			}
		}
	}
}

// A bundle has, read again, the Rego that its tables are emitted as.
func readAgain(t *testing.T, b *bundles.Bundle) *bundles.Bundle {
	t.Helper()
	var tar bytes.Buffer
	if err := b.WriteTar(&tar); err != nil {
		t.Fatal(err)
	}
	read, err := bundles.Read(&tar)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func decode(t *testing.T, text string) *decision.Request {
	t.Helper()
	r, err := decision.Decode[decision.Request]([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
