package agreement

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/process"
)

// Engine and stock OPA return the same answer to requests of which random values were
// replaced: the same message to an invalid one, and the same decision to a valid one.
func TestMalformedRequestsGetOneAnswer(t *testing.T) {
	t.Parallel()
	c := newComparison(t, filepath.Join("..", "..", "examples", "policies"), true)
	for _, point := range []struct {
		name, request string
		ask           func(*testing.T, *engine.Engine, []byte) map[string]any
	}{
		{"access", `{"user":"u","groups":["g"],"extra":{"a":["b"]},"verb":"get","apiGroup":"","resource":"pods","subresource":"",
			"namespace":"n","name":"","path":"","cluster":"","tenant":"","session":"","escalation":"","fields":["spec"],
			"labels":{"a":"b"},"namespaceLabels":{"a":"b"},"pod":{},"podError":"","attributes":{"a":1}}`, embeddedDecision},
		{"visibility", `{"user":"u","groups":["g"],"serviceAccount":{"namespace":"n","name":"a"},"action":"view",
			"cluster":{"name":"c","labels":{"a":"b"}},"type":"pods",
			"items":[{"name":"a","namespace":"n","labels":{"a":"b"},"fields":{"a":1}},{"name":"b"}],"aggregations":{"a":1},
			"metrics":{"totals":{"a":1,"b":2},"byNamespace":{"n":{"labels":{"a":"b"},"pods":1}},
			"byNode":{"w":{"labels":{"a":"b"},"ready":true,"roles":["r"],"cpu":1},"v":{"cpu":2}}}}`, embeddedView},
		{"gateway", `{"gateway":{"namespace":"net","name":"edge","listener":"https"},
			"route":{"kind":"HTTPRoute","namespace":"shop","name":"books","rule":"rule-1"},
			"request":{"id":"","protocol":"","scheme":"https","host":"a.b","method":"GET","path":"/a","url_path":"/a","query":"",
			"headers":{"a":"b"},"size":1,"body":""},
			"source":{"address":"","port":1,"principal":"","service":"","labels":{"a":"b"},"certificate":""},
			"destination":{"address":"","port":443},"connection":{},"metadata":{},"auth":{"identity":{"a":1},"metadata":{}}}`, embeddedGuard},
	} {
		t.Run(point.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(firstWorld(), 77)) //nolint:gosec // a repeatable sequence
			inputs := []json.RawMessage{
				[]byte("null"), []byte("[]"), []byte("false"), []byte(`"x"`), []byte("{}"),
				[]byte(`{"user":"u","verb":"get","resource":null,"path":"/x"}`),
			}
			for range 300 {
				var request any
				if err := json.Unmarshal([]byte(point.request), &request); err != nil {
					t.Fatal(err)
				}
				for range 1 + r.IntN(4) {
					request = malformed(r, request)
				}
				text, err := json.Marshal(request)
				if err != nil {
					t.Fatal(err)
				}
				inputs = append(inputs, text)
			}
			c.compareAt(t, point.name, timed(inputs), point.ask)
		})
	}
}

// malformed returns a value with one change in it.
func malformed(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		switch {
		case len(keys) == 0 || r.IntN(8) == 0:
			v[randomText(r)] = anything(r)
		case r.IntN(8) == 0:
			delete(v, keys[r.IntN(len(keys))])
		case r.IntN(8) == 0:
			key := keys[r.IntN(len(keys))]
			v[strings.Repeat(key, 1+r.IntN(40))+"s"] = v[key]
		default:
			key := keys[r.IntN(len(keys))]
			v[key] = malformed(r, v[key])
		}
		return v
	case []any:
		if len(v) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(v))
			v[i] = malformed(r, v[i])
			return v
		}
		return append(v, anything(r))
	}
	return anything(r)
}

func anything(r *rand.Rand) any {
	switch r.IntN(9) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.IntN(1000)
	case 3:
		return 0.5
	case 4:
		return ""
	case 5:
		return randomText(r)
	case 6:
		return []any{}
	case 7:
		return []any{"a", anything(r)}
	}
	return map[string]any{"a": anything(r), randomText(r): anything(r)}
}

// Absent input, with which tools try a bundle, is an invalid request.
func TestAbsentInputIsAnInvalidRequest(t *testing.T) {
	t.Parallel()
	_, path := buildDirectory(t, filepath.Join("..", "..", "examples", "policies"))
	out, err := exec.CommandContext(t.Context(), process.OPA(t), "eval", "--bundle", path, "--format", "raw",
		"[data.writ.access.decision, data.writ.visibility.decision, data.writ.gateway.decision]").Output()
	if err != nil {
		t.Fatal(err)
	}
	refused := `{"error":{"code":"invalid_request","message":"the request is not a JSON object"}}`
	if got, want := strings.TrimSpace(string(out)), "["+strings.Join([]string{refused, refused, refused}, ",")+"]"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A bundle from which all tables were removed denies at every point.
func TestBundleWithoutTablesDenies(t *testing.T) {
	t.Parallel()
	bundle, _ := buildDirectory(t, filepath.Join("..", "..", "examples", "policies"))
	folder := t.TempDir()
	if err := bundle.WriteDir(folder); err != nil {
		t.Fatal(err)
	}
	const broken = "denied: evaluation error: the bundle lacks data.compiled."
	for _, row := range []struct{ point, input, want string }{
		{"access", `{"user":"u","verb":"get","resource":"pods"}`, broken + "access.bindings"},
		{"visibility", `{"user":"u"}`, broken + "features"},
		{"gateway", `{"request":{"host":"a.b","method":"GET","path":"/"}}`, broken + "features"},
	} {
		command := exec.CommandContext(t.Context(), process.OPA(t), "eval", "--data", filepath.Join(folder, "writ"),
			"--data", filepath.Join(folder, "compiled", "deny"), "--data", filepath.Join(folder, "compiled", "gateway"),
			"--data", filepath.Join(folder, "compiled", "extensions"), "--data", filepath.Join(folder, "compiled", "visibility"),
			"--stdin-input", "--format", "raw", "data.writ."+row.point+".decision.reason")
		command.Stdin = strings.NewReader(row.input)
		out, err := command.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != row.want {
			t.Errorf("%s: got %s, %v\nwant %s", row.point, got, err, row.want)
		}
	}
}
