package agreement

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	apiaccess "github.com/writ-policy/writ/server/api/access"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/generated"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/translator"
)

// denyWorlds is the number of random worlds with deny policies and pods.
func denyWorlds() int { return gate.Times(1) }

// worlds is the number of random worlds that the decisions of engine, OPA and oracle are compared in.
func worlds() int { return max(3, gate.Times(1)) }

// firstWorld is the seed of the first random world.
func firstWorld() uint64 { return gate.Seed() }

// Each world is asked requestsPerWorld requests; OPA, which takes far longer than
// the others, one of every stockEvery.
const (
	requestsPerWorld = 500
	stockEvery       = 5
)

// The embedded engine, OPA over the bundle's compact tables and a naive reading
// of the specification must say the same of every request.
func TestEngineAndOPAAndOracleAgree(t *testing.T) {
	t.Parallel()
	agree(t, worlds(), access.Generate)
}

func TestEngineAndOPAAndOracleAgreeOnDenyPolicies(t *testing.T) {
	t.Parallel()
	agree(t, denyWorlds(), access.GenerateDeny)
}

// Lists are allowed by their selectors, and the reason of one that is not names those with
// which it is.
func TestEngineAndOPAAndOracleAgreeOnLists(t *testing.T) {
	t.Parallel()
	decided := agree(t, worlds(), access.GenerateLists)
	if decided["implied"] < 10 || decided["sufficient"] < 10 {
		t.Errorf("too few decisions are about selectors: %v", decided)
	}
}

func agree(t *testing.T, worlds int, generate func(seed uint64) (map[string]string, *access.World)) map[string]int {
	t.Helper()
	decided := make(map[string]int)
	for seed := firstWorld(); seed < firstWorld()+uint64(worlds); seed++ {
		files, world := generate(seed)
		bundle := build(t, seed, files)
		engines := bothWays(t, bundle, []string{decision.Access}, engine.Options{})
		embedded, whole := engines[0], engines[1]
		stock := stockOPA(t, bundle)
		for i, request := range world.Requests(requestsPerWorld) {
			text := request.JSON()
			said := world.Decide(request)
			want := ofOracle(said)
			got, pods := ofEngine(t, embedded, text)
			if !begin(got.Warnings, want.Warnings) || !reflect.DeepEqual(pods, ofJudgements(said.Judgements)) {
				t.Fatalf("world %d, request %d %s\nengine %q, pods %+v\noracle %q, pods %+v", seed, i, text, got.Warnings, pods, want.Warnings, said.Judgements)
			}
			if want.Warnings = got.Warnings; !reflect.DeepEqual(got, want) {
				t.Fatalf("world %d, request %d %s\nengine %+v\noracle %+v", seed, i, text, got, want)
			}
			if strings.Contains(got.Reason, "; allowed with ") {
				decided["sufficient"]++
			}
			if len(got.Matched) > 0 && got.Matched[0].Selector != "" {
				decided["implied"]++
			}
			if i%stockEvery != 0 {
				decided[got.outcome()]++
				continue
			}
			if of := ofStock(t, stock, text); !reflect.DeepEqual(of, got) {
				t.Fatalf("world %d, request %d %s\nOPA    %+v\nengine %+v", seed, i, text, of, got)
			}
			if of, _ := ofEngine(t, whole, text); !reflect.DeepEqual(of, got) {
				t.Fatalf("world %d, request %d %s\nengine by OPA %+v\nengine        %+v", seed, i, text, of, got)
			}
			decided[got.outcome()]++
		}
		compareWhoCan(t, seed, world, embedded)
	}
	for _, outcome := range []string{"allowed", "denied", "neither"} {
		if decided[outcome] == 0 {
			t.Errorf("no request was %s: %v", outcome, decided)
		}
	}
	t.Logf("worlds %d to %d: %v", firstWorld(), firstWorld()+uint64(worlds)-1, decided)
	return decided
}

// answer is a decision as all three give it.
type answer struct {
	Invalid  bool
	Allowed  bool
	Denied   bool
	Reason   string
	Matched  []decision.Matched
	Warnings []string
	Pod      *decision.PodSecurity
}

func (a answer) outcome() string {
	switch {
	case a.Invalid:
		return "invalid"
	case a.Allowed:
		return "allowed"
	case a.Denied:
		return "denied"
	}
	return "neither"
}

func build(t *testing.T, seed uint64, files map[string]string) *bundles.Bundle {
	t.Helper()
	bundle, err := tryBuild(files)
	if err != nil {
		t.Fatalf("world %d: %v", seed, err)
	}
	if err := generated.CheckFormat(bundle.Files); err != nil {
		t.Errorf("world %d: %v", seed, err)
	}
	return bundle
}

func tryBuild(files map[string]string) (*bundles.Bundle, error) {
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(context.Background(), snapshotOf(files))
	if result == nil {
		return nil, fmt.Errorf("the documents do not compile: %+v", list)
	}
	return bundles.Build(result, bundles.BuildOptions{})
}

// stockOPA is a stock OPA that decides at the access point.
func stockOPA(t *testing.T, bundle *bundles.Bundle) rego.PreparedEvalQuery {
	t.Helper()
	return stockPoint(t, bundle, "access")
}

func ofOracle(d oracle.Decision) answer {
	if d.Invalid != "" {
		return answer{Invalid: true}
	}
	a := answer{Allowed: d.Allowed, Denied: d.Denied, Reason: d.Reason}
	for _, e := range d.Matched {
		m := decision.Matched{
			Kind: e.Kind, Namespace: e.Namespace, Name: e.Name, Rule: e.Rule, Source: e.Source,
			Effect: e.Effect, APIVersion: e.APIVersion,
		}
		if e.Step > 2 { // neither a DenyPolicy nor a DebugSession
			m.Role = &decision.RoleRef{Kind: e.Role.Kind, Namespace: e.Role.Namespace, Name: e.Role.Name}
			m.Binding.Source = e.Binding.Source
		}
		m.Until = e.Until
		m.Selector = e.Selector
		for _, v := range e.Via {
			m.Via = append(m.Via, decision.Via(v))
		}
		a.Matched = append(a.Matched, m)
	}
	a.Warnings = d.Warnings()
	if p := d.PodSecurity; p != nil {
		a.Pod = &decision.PodSecurity{Policy: p.Policy, Action: p.Action, Score: p.Score, Factors: append([]string{}, p.Factors...)}
	}
	return a
}

func ofJudgements(judgements []oracle.Judgement) []decision.PodOutcome {
	var pods []decision.PodOutcome
	for _, j := range judgements {
		pod := decision.PodOutcome{Policy: j.Policy, Action: j.Action, Override: j.How == "override"}
		if j.How != "unavailable" && j.How != "exempt" {
			pod.Evaluated, pod.Score, pod.Factors = true, j.Score, append([]string(nil), j.Factors...)
		}
		pods = append(pods, pod)
	}
	return pods
}

// begin reports whether each text begins as wanted: the oracle leaves the end of
// a warning free.
func begin(texts, beginnings []string) bool {
	return slices.EqualFunc(texts, beginnings, strings.HasPrefix)
}

func ofEngine(t *testing.T, e *engine.Engine, text string) (answer, []decision.PodOutcome) {
	t.Helper()
	request, err := decision.Decode[decision.Request]([]byte(text))
	if err != nil {
		return answer{Invalid: true}, nil
	}
	d := e.Access(context.Background(), request)
	if d.EvaluationError != "" {
		t.Fatalf("%s: %s", text, d.EvaluationError)
	}
	return ofDecision(d), d.Pods
}

func ofStock(t *testing.T, query rego.PreparedEvalQuery, text string, options ...rego.EvalOption) answer {
	t.Helper()
	var input any
	if err := json.Unmarshal([]byte(text), &input); err != nil {
		t.Fatal(err)
	}
	result, err := query.Eval(context.Background(), append(options, rego.EvalInput(input))...)
	if err != nil || len(result) != 1 {
		t.Fatalf("%s: %v, %v", text, result, err)
	}
	written, err := json.Marshal(result[0].Expressions[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		decision.Decision
		Error *struct{ Code string }
	}
	if err := json.Unmarshal(written, &d); err != nil {
		t.Fatal(err)
	}
	if d.Error != nil {
		return answer{Invalid: d.Error.Code == "invalid_request"}
	}
	return ofDecision(d.Decision)
}

func ofDecision(d decision.Decision) answer {
	a := answer{Allowed: d.Allowed, Denied: d.Denied, Reason: d.Reason, Pod: d.PodSecurity}
	a.Warnings = append(a.Warnings, d.Warnings...)
	a.Matched = append(a.Matched, d.Matched...)
	return a
}

func compareWhoCan(t *testing.T, seed uint64, world *access.World, e *engine.Engine) {
	t.Helper()
	for _, request := range world.Requests(25) {
		request.User, request.Groups = "someone", nil
		if request.Valid() != nil {
			continue
		}
		decoded, err := decision.Decode[decision.Request]([]byte(request.JSON()))
		if err != nil {
			t.Fatal(err)
		}
		request.User, decoded.User = "", ""
		want := world.WhoCan(request)
		got := apiaccess.AskWhoCan(context.Background(), e, decoded)
		wanted := fmt.Sprintf("users %q groups %q accounts %q except %v", want.Users, want.Groups, want.ServiceAccounts, want.Except)
		given := fmt.Sprintf("users %q groups %q accounts %q except %v", got.Users, got.Groups, got.ServiceAccounts, got.Except)
		if left := slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.HasPrefix(w, "pod security is left out") }); left != want.PodLeftOut && want.Reason == "" {
			t.Fatalf("world %d, who can %s: got warnings %q, oracle leaves pod security out: %v", seed, request.JSON(), got.Warnings, want.PodLeftOut)
		}
		if given != wanted {
			t.Fatalf("world %d, who can %s\nengine %s\noracle %s", seed, request.JSON(), given, wanted)
		}
	}
}
