package decision

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func decodeVisibility(text []byte) (*VisibilityRequest, error) {
	value, err := Parse(text)
	if err != nil {
		return nil, err
	}
	r := new(VisibilityRequest)
	return r, r.Read(value, nil)
}

func TestDecodeVisibility(t *testing.T) {
	text := `{"user":"alice","groups":["a",""],"serviceAccount":{"namespace":"n","name":"s","x":1},"action":"view",` +
		`"cluster":{"name":"c","labels":{"env":"prod"}},"type":"pvc",` +
		`"items":[{"name":"a","namespace":null,"labels":{"l":"v"},"fields":{"n":1.50,"x":null},"kind":7},{}],` +
		`"aggregations":{"total":1e3},"metrics":{"totals":{"pods":1},"byNode":{"w":{"ready":true}},"byNamespace":null}}`
	want := &VisibilityRequest{
		User: "alice", Groups: []string{"a", ""}, ServiceAccount: ServiceAccount{"n", "s"}, Action: "view",
		Cluster: Cluster{"c", map[string]string{"env": "prod"}}, Type: "pvc",
		Items: &[]Item{
			{Name: "a", Labels: map[string]string{"l": "v"}, Fields: map[string]any{"n": json.Number("1.50"), "x": nil}}, {},
		},
		Aggregations: map[string]any{"total": json.Number("1e3")},
		Metrics: map[string]any{
			"totals": map[string]any{"pods": json.Number("1")}, "byNode": map[string]any{"w": map[string]any{"ready": true}}, "byNamespace": nil,
		},
	}
	got, err := decodeVisibility([]byte(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	body, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := decodeVisibility(body); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("of %s: got %+v and %v, want %+v", body, again, err, want)
	}
	got, err = decodeVisibility([]byte(`{"user":null,"groups":null,"serviceAccount":null,"action":null,"cluster":null,"type":null,"items":null,"aggregations":null,"metrics":null}`))
	if err != nil || !reflect.DeepEqual(got, &VisibilityRequest{}) {
		t.Errorf("got %+v, %v, want an empty request", got, err)
	}
}

// Null is absent, and unknown parts of metrics are ignored.
func TestDecodeVisibilityMetrics(t *testing.T) {
	for name, text := range map[string]string{
		"none":                  `null`,
		"empty":                 `{}`,
		"parts of null":         `{"totals":null,"byNamespace":null,"byNode":null}`,
		"numbers of null":       `{"totals":{"pods":null},"byNamespace":{"a":{"pods":null,"labels":null}}}`,
		"a node's nulls":        `{"byNode":{"w":{"cpu_capacity":null,"labels":null,"ready":null,"roles":null}}}`,
		"a whole node":          `{"byNode":{"w":{"cpu_capacity":8e3,"labels":{"a":""},"ready":false,"roles":["worker"]},"v":{}}}`,
		"a metric of one's own": `{"totals":{"my metric":-0.5},"byNamespace":{"":{"quotas":2}}}`,
		"unknown parts":         `{"byZone":"eu","extra":{"a":{"ready":"true"}},"Totals":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decodeVisibility([]byte(`{"metrics":` + text + `}`)); err != nil {
				t.Errorf("got %v, want a request", err)
			}
		})
	}
}

func TestDecodeVisibilityRefuses(t *testing.T) {
	for _, row := range []struct{ name, text, field, message string }{
		{"no object", `[]`, "", "not a JSON object"},
		{"an unknown key", `{"User":"a"}`, "User", `unknown key "User"`},
		{"the engine's key", `{"null":{}}`, "null", "unknown key"},
		{"a key twice", `{"user":"a","user":"b"}`, "user", "twice"},
		{"an invalid user", `{"user":1}`, "user", "a string"},
		{"an invalid action", `{"action":true}`, "action", "a string"},
		{"an invalid type", `{"type":[]}`, "type", "a string"},
		{"groups", `{"groups":"a"}`, "groups", "list of strings"},
		{"a group", `{"groups":[1]}`, "groups", "element 0"},
		{"a service account", `{"serviceAccount":"n/s"}`, "serviceAccount", "an object"},
		{"its name", `{"serviceAccount":{"name":1}}`, "serviceAccount.name", "a string"},
		{"a cluster", `{"cluster":"c"}`, "cluster", "an object"},
		{"a cluster's name", `{"cluster":{"name":1}}`, "cluster.name", "a string"},
		{"a cluster's label", `{"cluster":{"labels":{"a":1}}}`, "cluster.labels", "object of strings"},
		{"items", `{"items":{}}`, "items", "list of objects"},
		{"an item", `{"items":[{},1]}`, "items", "item 1: the item is not a JSON object"},
		{"an item of null", `{"items":[null]}`, "items", "item 0"},
		{"an item's name", `{"items":[{"name":1}]}`, "items", `item 0: key "name" must be a string`},
		{"an item's label", `{"items":[{"labels":{"a":null}}]}`, "items", `item 0: key "labels"`},
		{"an item's fields", `{"items":[{"fields":[]}]}`, "items", `item 0: key "fields"`},
		{"aggregations", `{"aggregations":[]}`, "aggregations", "an object"},
		{"metrics", `{"metrics":1}`, "metrics", "an object"},
		{"totals", `{"metrics":{"totals":1}}`, "metrics.totals", "an object"},
		{"a total", `{"metrics":{"totals":{"pods":1,"nodes":"3"}}}`, "metrics.totals", `metrics.totals: key "nodes" must be a number`},
		{"an unknown total", `{"metrics":{"totals":{"filtered":true}}}`, "metrics.totals", `key "filtered" must be a number`},
		{"records", `{"metrics":{"byNamespace":[]}}`, "metrics.byNamespace", "an object"},
		{"a record", `{"metrics":{"byNode":{"w":1}}}`, "metrics.byNode", `record "w": it is not a JSON object`},
		{"a record of null", `{"metrics":{"byNamespace":{"a":null}}}`, "metrics.byNamespace", `record "a": it is not a JSON object`},
		{"a number of a namespace", `{"metrics":{"byNamespace":{"a":{"pods":"3"}}}}`, "metrics.byNamespace", `record "a": key "pods" must be a number`},
		{"a number of a node", `{"metrics":{"byNode":{"w":{"cpu_capacity":[8]}}}}`, "metrics.byNode", `record "w": key "cpu_capacity" must be a number`},
		{"labels of a namespace", `{"metrics":{"byNamespace":{"a":{"labels":[]}}}}`, "metrics.byNamespace", `record "a": key "labels" must be an object of strings`},
		{"a label of a node", `{"metrics":{"byNode":{"w":{"labels":{"a":1}}}}}`, "metrics.byNode", `record "w": key "labels" must be an object of strings`},
		{"ready", `{"metrics":{"byNode":{"w":{"ready":"true"}}}}`, "metrics.byNode", `record "w": key "ready" must be a boolean`},
		{"ready as a number", `{"metrics":{"byNode":{"w":{"ready":1}}}}`, "metrics.byNode", `record "w": key "ready" must be a boolean`},
		{"ready of a namespace", `{"metrics":{"byNamespace":{"a":{"ready":true}}}}`, "metrics.byNamespace", `record "a": key "ready" must be a number`},
		{"roles", `{"metrics":{"byNode":{"w":{"roles":"master"}}}}`, "metrics.byNode", `metrics.byNode: record "w": key "roles" must be a list of strings`},
		{"a role", `{"metrics":{"byNode":{"w":{"roles":["worker",1]}}}}`, "metrics.byNode", `record "w": key "roles" must be a list of strings`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := decodeVisibility([]byte(row.text))
			var got *InvalidRequest
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an invalid request", err)
			}
			if got.Field != row.field || !strings.Contains(got.Message, row.message) {
				t.Errorf("got %q: %q, want %q: %q", got.Field, got.Message, row.field, row.message)
			}
		})
	}
}

func TestVisibilityJSON(t *testing.T) {
	d := VisibilityDecision{}
	if got, want := string(d.AppendJSON(nil)), `{"decision":"","permissions":[],"policy":"","reason":"","filters":{},"matched":[],"visible":[],"aggregations":{},"metrics":{}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	d = VisibilityDecision{
		Authorization: Authorization{
			Decision: VisibleSome, Permissions: []string{"view"}, Policy: `p"`, Reason: "r",
			Filters:         map[string]any{"b": []string{"x"}, "a": map[string]any{}},
			Matched:         []Matched{{Kind: "K", Namespace: "n", Name: "m", Rule: -1, Source: "f:1", Effect: "allow"}},
			EvaluationError: "never reported", Basis: "nor this",
		},
		Visible: []int{0, 7}, Aggregations: map[string]any{"z": json.Number("1.50"), "a": nil}, Metrics: map[string]any{"filtered": true},
	}
	want := `{"decision":"partial","permissions":["view"],"policy":"p\"","reason":"r","filters":{"a":{},"b":["x"]},` +
		`"matched":[{"kind":"K","namespace":"n","name":"m","rule":-1,"source":"f:1"}],` +
		`"visible":[0,7],"aggregations":{"a":null,"z":1.50},"metrics":{"filtered":true}}`
	if got := string(d.AppendJSON(nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzDecodeVisibility checks that nothing panics and that an invalid request gets an
// error body. An accepted request is JSON, and its items are accepted one by one.
func FuzzDecodeVisibility(f *testing.F) {
	for _, seed := range []string{
		`{"user":"u","groups":["g"],"cluster":{"name":"c","labels":{}},"type":"pods","items":[{"name":"a","fields":{"x":[1,{"y":null}]}}]}`,
		`{"serviceAccount":{"namespace":"n","name":"s"},"action":"viewMetrics","metrics":{"totals":{},"byNamespace":{"a":{}}},"aggregations":{"a":1e3}}`,
		`{"user":1}`, `{"items":[null]}`, `{"metrics":{"byNode":{"w":1}}}`, `{"user":"a","user":"a"}`, ` [ ] `, `{"cluster":{"labels":{"\ud800":""}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeVisibility(data)
		if err != nil {
			if !json.Valid(AsInvalidRequest(err).Body()) {
				t.Errorf("got a body that is not JSON: %s", AsInvalidRequest(err).Body())
			}
			return
		}
		value, err := Parse(data)
		if err != nil {
			t.Fatalf("decoded what the check refuses: %v", err)
		}
		for key, member := range value.Members() {
			if key != "items" || r.Items == nil {
				continue
			}
			index := 0
			for element := range member.Elements() {
				item, _, err := NewLines(nil, 0).item(element.Bytes())
				if err != nil || !reflect.DeepEqual(item, (*r.Items)[index]) {
					t.Errorf("item %d alone: got %+v, %v, want %+v", index, item, err, (*r.Items)[index])
				}
				index++
			}
		}
		d := VisibilityDecision{Aggregations: r.Aggregations, Metrics: r.Metrics}
		if text := d.AppendJSON(nil); !json.Valid(text) {
			t.Errorf("got no JSON: %s", text)
		}
	})
}

// even shows every second item. Its numbers are how many items there were.
type even struct {
	Unavailable
	failure string
}

func (e even) FilterItems(_ context.Context, _ *VisibilityRequest, a Authorization, items iter.Seq2[Item, error], yield func(int) error) (VisibilityDecision, error) {
	d := VisibilityDecision{Authorization: a}
	d.EvaluationError = e.failure
	count := 0
	for _, err := range items {
		if err != nil {
			return d, err
		}
		if count%2 == 0 {
			if err := yield(count); err != nil {
				return d, err
			}
		}
		count++
	}
	d.Aggregations = map[string]any{"count": count}
	return d, nil
}

func TestStream(t *testing.T) {
	const head = `{"decision":"allow","permissions":[],"policy":"","reason":"","filters":{},"matched":[]}`
	for _, row := range []struct {
		name, items string
		policies    even
		want        string
	}{
		{"none", "", even{}, head + "\n" + `{"aggregations":{"count":0},"metrics":{}}`},
		{"some", "{}\n\n{}\r\n{}\n{}\n{}", even{}, head + "\n" + `{"visible":[0,2]}` + "\n" + `{"visible":[4]}` + "\n" + `{"aggregations":{"count":5},"metrics":{}}`},
		{"a broken one", "{}\n{\"name\":1}\n{}", even{}, head + "\n" + `{"error":{"code":"invalid_request","message":"item 1: key \"name\" must be a string"}}`},
		{"one too long", "{}\n" + strings.Repeat(" ", 200) + "{}", even{}, head + "\n" + `{"error":{"code":"invalid_request","message":"item 1: the line is longer than 100 bytes"}}`},
		{"an evaluation error at the end", "{}", even{failure: "t"}, head + "\n" + `{"error":{"code":"evaluation_error","message":"t"}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			// A byte at a time: a line is a line, however it comes.
			in := NewLines(iotest.OneByteReader(strings.NewReader("{\"user\":\"u\"}\n"+row.items)), 100)
			r, err := in.Request(nil)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			s := Stream{Chunk: 2, Write: func(line []byte) error { out.Write(line); return nil }}
			if _, err := s.Run(t.Context(), row.policies, r, Authorization{Decision: VisibleAll}, in.Items()); err != nil {
				if err := s.Refuse(err); err != nil {
					t.Fatal(err)
				}
			}
			if got := out.String(); got != row.want+"\n" {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

func TestLinesRefuse(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"nothing", "", "the body is empty"},
		{"blank lines", "\n \n", "the body is empty"},
		{"items of its own", `{"items":[]}`, `key "items" must be absent`},
		{"a line too long", `{"user":"` + strings.Repeat("x", 200) + `"}`, "longer than 100 bytes"},
		{"two values", `{} {}`, "goes on"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := NewLines(strings.NewReader(row.text), 100).Request(nil)
			var invalid *InvalidRequest
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
	broken := errors.New("gone")
	for _, err := range NewLines(iotest.ErrReader(broken), 100).Items() {
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
}
