package agreement

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/visibility"
)

// visibilityWorlds are random worlds with visibility policies.
func visibilityWorlds() int { return max(2, gate.Times(1)) }

func TestEngineAndOPAAndOracleAgreeOnVisibility(t *testing.T) {
	t.Parallel()
	decided := map[string]int{}
	for seed := firstWorld(); seed < firstWorld()+uint64(visibilityWorlds()); seed++ {
		files, views := visibility.Generate(seed)
		bundle := build(t, seed, files)
		var now time.Time
		engines := bothWays(t, bundle, []string{decision.Visibility}, engine.Options{Now: func() time.Time { return now }})
		embedded, whole := engines[0], engines[1]
		stock := stockPoint(t, bundle, "visibility")
		for i, request := range views.Requests(requestsPerWorld) {
			now = request.Now
			text := request.JSON()
			want := views.Decide(request)
			got := viewOfEngine(t, embedded, text)
			if why := unequal(got, treeOf(want), "engine"); why != "" {
				t.Fatalf("world %d, request %d at %s %s\n%s\nengine %s\noracle %s", seed, i, now, text, why, written(t, got), written(t, want))
			}
			if i%stockEvery == 0 {
				of := viewOfStock(t, stock, text, now)
				if why := unequal(of, treeOf(want), "OPA"); why != "" {
					t.Fatalf("world %d, request %d at %s %s\n%s\nOPA    %s\noracle %s", seed, i, now, text, why, written(t, of), written(t, want))
				}
				if of := viewOfEngine(t, whole, text); unequal(of, treeOf(want), "engine by OPA") != "" {
					t.Fatalf("world %d, request %d at %s %s\nengine by OPA %s\noracle %s", seed, i, now, text, written(t, of), written(t, want))
				}
			}
			decided[want.Decision]++
		}
	}
	for _, outcome := range []string{"allow", "partial", "deny"} {
		if decided[outcome] == 0 {
			t.Errorf("no request was %s: %v", outcome, decided)
		}
	}
	t.Logf("worlds %d to %d: %v", firstWorld(), firstWorld()+uint64(visibilityWorlds())-1, decided)
}

// decodeVisibility reads a request that states the labels of its cluster, if they are known.
func decodeVisibility(text []byte) (*decision.VisibilityRequest, error) {
	value, err := decision.Parse(text)
	if err != nil {
		return nil, err
	}
	r := new(decision.VisibilityRequest)
	return r, r.Read(value, nil)
}

func viewOfEngine(t *testing.T, e *engine.Engine, text string) any {
	t.Helper()
	request, err := decodeVisibility([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	d := decision.DecideVisibility(context.Background(), e, request, e.Visibility(context.Background(), request))
	if d.EvaluationError != "" {
		t.Fatalf("%s: %s", text, d.EvaluationError)
	}
	return tree(t, d.AppendJSON(nil))
}

// stockPoint is a stock OPA that decides at a point.
func stockPoint(t *testing.T, bundle *bundles.Bundle, point string) rego.PreparedEvalQuery {
	t.Helper()
	return newStock(t, bundle, noTests, point).prepare(t, "data.writ."+point+".decision")
}

func viewOfStock(t *testing.T, query rego.PreparedEvalQuery, text string, now time.Time) any {
	t.Helper()
	result, err := query.Eval(context.Background(), rego.EvalInput(tree(t, []byte(text))), rego.EvalTime(now))
	if err != nil || len(result) != 1 {
		t.Fatalf("%s: %v, %v", text, result, err)
	}
	return tree(t, []byte(written(t, result[0].Expressions[0].Value)))
}

// tree decodes JSON and keeps the digits of numbers.
func tree(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func written(t *testing.T, value any) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// treeOf is the oracle's decision as its JSON is, but for the numbers that it has
// computed: a Number states how exact an endpoint must be.
func treeOf(d visibility.Decision) any {
	matched := []any{}
	for _, m := range d.Matched {
		matched = append(matched, map[string]any{
			"kind": m.Kind, "namespace": m.Namespace, "name": m.Name, "rule": json.Number(fmt.Sprint(m.Rule)), "source": m.Source,
		})
	}
	visible := []any{}
	for _, index := range d.Visible {
		visible = append(visible, json.Number(fmt.Sprint(index)))
	}
	return map[string]any{
		"decision": d.Decision, "permissions": d.Permissions, "policy": d.Policy, "reason": d.Reason, "filters": d.Filters,
		"visible": visible, "aggregations": d.Aggregations, "metrics": d.Metrics, "matched": matched,
	}
}

// unequal states where two trees differ, "" if nowhere. Numbers are compared by
// what they are worth.
func unequal(got, want any, path string) string {
	equal := false
	switch want := want.(type) {
	case visibility.Number:
		n, ok := worth(got)
		equal = ok && (n.Cmp(want.Rat) == 0 || want.About && near(n, want.Rat))
	case json.Number:
		n, ok := worth(got)
		m, _ := worth(want)
		equal = ok && n.Cmp(m) == 0
	case map[string]any:
		return unequalObjects(got, want, path)
	case map[string]string:
		object := map[string]any{}
		for key, value := range want {
			object[key] = value
		}
		return unequalObjects(got, object, path)
	case []string:
		list := []any{}
		for _, item := range want {
			list = append(list, item)
		}
		return unequal(got, list, path)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			break
		}
		for i := range want {
			if why := unequal(list[i], want[i], fmt.Sprintf("%s[%d]", path, i)); why != "" {
				return why
			}
		}
		return ""
	default:
		equal = got == want
	}
	if equal {
		return ""
	}
	return fmt.Sprintf("%s: got %v, want %v", path, got, want)
}

func unequalObjects(got any, want map[string]any, path string) string {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: got %v, want %v", path, got, want)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if _, there := want[key]; !there {
			return fmt.Sprintf("%s.%s: got %v, want nothing", path, key, object[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, there := object[key]
		if !there {
			return fmt.Sprintf("%s.%s: got nothing, want %v", path, key, want[key])
		}
		if why := unequal(value, want[key], path+"."+key); why != "" {
			return why
		}
	}
	return ""
}

func worth(value any) (*big.Rat, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// least is the smallest number that a float has in full.
var least, _ = new(big.Rat).SetString("2.2250738585072014e-308")

// near allows for the rounding of floats.
func near(got, want *big.Rat) bool {
	distance := new(big.Rat).Sub(got, want)
	if new(big.Rat).Abs(distance).Cmp(least) < 0 {
		return true
	}
	allowed := new(big.Rat).Mul(want, big.NewRat(1, 1_000_000_000))
	return distance.Abs(distance).Cmp(allowed.Abs(allowed)) <= 0
}

var place = regexp.MustCompile(`"[^"\n]*\.(yaml|yml|json):\d+"|Generated from .*`)

// rules are a bundle's compiled files without the places of rules, which are
// where the text is.
func rules(bundle *bundles.Bundle) map[string]string {
	texts := map[string]string{}
	for path, content := range bundle.Files {
		texts[path] = place.ReplaceAllString(string(content), `""`)
	}
	return texts
}

// In which order files are read and how documents are split over them changes
// nothing, and neither does the form a policy is spelt in.
func TestLayoutOfVisibilityChangesNoByte(t *testing.T) {
	for seed := firstWorld(); seed < firstWorld()+uint64(visibilityWorlds()); seed++ {
		views := visibility.Make(seed)
		newer, older := rules(build(t, seed, views.WritePlain(false))), rules(build(t, seed, views.WritePlain(true)))
		if why := unlike(older, newer); why != "" {
			t.Fatalf("world %d, the older form: %s", seed, why)
		}
		files, _ := visibility.Generate(seed)
		if why := unlike(rules(build(t, seed, files)), newer); why != "" {
			t.Fatalf("world %d, another layout: %s", seed, why)
		}
	}
}

func unlike(got, want map[string]string) string {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			return fmt.Sprintf("%s\n%s\nis not\n%s", path, ahead(got[path], want[path]), ahead(want[path], got[path]))
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d files, want %d", len(got), len(want))
	}
	return ""
}

// ahead is a text from shortly before where it differs from another.
func ahead(text, other string) string {
	same := 0
	for same < min(len(text), len(other)) && text[same] == other[same] {
		same++
	}
	return text[max(0, same-100):min(len(text), same+100)]
}

// A Deny that is added never shows more.
func TestDenyNeverShowsMore(t *testing.T) {
	for seed := firstWorld(); seed < firstWorld()+uint64(visibilityWorlds()); seed++ {
		views := visibility.Make(seed)
		without := visibility.Make(seed)
		without.Policies = slices.DeleteFunc(without.Policies, func(p *visibility.Policy) bool { return p.Deny })
		if len(without.Policies) == len(views.Policies) {
			views.Policies[0].Deny, views.Policies[0].NotBefore = true, ""
			without.Policies = without.Policies[1:]
		}
		var now time.Time
		var engines []*engine.Engine
		for _, w := range []*visibility.World{views, without} {
			e, err := engine.Activate(context.Background(), build(t, seed, w.WritePlain(false)), engine.Options{Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			engines = append(engines, e)
		}
		for _, request := range views.Requests(requestsPerWorld / 5) {
			now = request.Now
			with := viewOfEngine(t, engines[0], request.JSON()).(map[string]any)
			less := viewOfEngine(t, engines[1], request.JSON()).(map[string]any)
			if with["decision"] != "deny" {
				delete(with, "matched") // the places are others
				delete(less, "matched")
				if why := unequal(with, less, "with the Deny"); why != "" {
					t.Fatalf("world %d, %s: %s", seed, request.JSON(), why)
				}
			}
		}
	}
}
