package gateway_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/gateway"
	"github.com/writ-policy/writ/tests/golden"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// answers is Rego that gives one answer to each question, and records the questions.
type answers struct {
	values  map[gateway.Document]any // without a key: the rule has no value
	allowed bool
	asked   []string
}

func (a *answers) Input(attributes map[string]any) (any, error) { return attributes, nil }

func (a *answers) Value(d gateway.Document, rule string, patterns map[string]any, input any) (any, bool, error) {
	attributes, err := json.Marshal(input)
	if err != nil {
		return nil, false, err
	}
	a.asked = append(a.asked, fmt.Sprintf("  %s %s, patterns %v, of %s", d, rule, patterns, attributes))
	value, found := a.values[d]
	return value, found, nil
}

func (a *answers) IsAllowed(review any) (bool, error) {
	a.asked = append(a.asked, fmt.Sprintf("  is allowed %v", review))
	return a.allowed, nil
}

// both are Rego that agrees to everything, and Rego that agrees to nothing.
func both() []*answers {
	return []*answers{
		{values: map[gateway.Document]any{
			gateway.Applies: true, gateway.Judged: map[string]any{"outcome": "allow", "value": map[string]any{"asked": true}},
			gateway.Review: map[string]any{"user": "asked"}, gateway.Item: "asked", gateway.Denial: map[string]any{"code": json.Number("418"), "message": "asked"},
		}, allowed: true},
		{values: map[gateway.Document]any{
			gateway.Applies: false, gateway.Judged: map[string]any{"outcome": "deny"}, gateway.Review: map[string]any{"user": "asked"},
		}},
	}
}

// Each conformance suite about inheritance has a golden file: for each request the decision
// of the tables, first with Rego that agrees to everything, and then, where that was asked,
// with Rego that agrees to nothing, and what was asked.
func TestDecisionsOfConformanceSuites(t *testing.T) {
	files, err := filepath.Glob("../../../tests/conformance/inheritance/*/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	decided := 0
	for _, file := range files {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			got, n := suite(t, folder)
			if decided += n; n > 0 {
				golden.Compare(t, filepath.Join("testdata", filepath.Base(folder)+".golden"), got, *update)
			}
		})
	}
	if decided < 500 {
		t.Errorf("got %d decisions, want most of the cases", decided)
	}
}

// suite returns the golden file of a suite, and the number of decisions in it.
func suite(t *testing.T, folder string) ([]byte, int) {
	t.Helper()
	policies := gateway.New(tablesOf(t, folder))
	cases, err := os.ReadFile(filepath.Join(folder, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	decided := 0
	for line := range strings.Lines(string(cases)) {
		var c struct {
			Name, Point string
			Input       json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		r, err := decision.DecodeGateway(c.Input)
		if c.Point != decision.Gateway || err != nil {
			continue
		}
		fmt.Fprintln(&out, c.Name)
		decided += decide(&out, policies, r)
	}
	return out.Bytes(), decided
}

// decide writes the decisions on a request, and returns how many there are.
func decide(out *bytes.Buffer, p *gateway.Policies, r *decision.GatewayRequest) int {
	routed, ok := p.Route(r)
	if !ok {
		fmt.Fprintln(out, "  uncertain")
		return 0
	}
	for i, rego := range both() {
		d, err := routed.Decide("2026-03-01T10:00:00Z", rego)
		if err != nil {
			fmt.Fprintf(out, "  %v\n", err)
		} else {
			fmt.Fprintf(out, "  %s\n", d.AppendJSON(nil))
		}
		for _, asked := range rego.asked {
			fmt.Fprintf(out, "  %s\n", asked)
		}
		if i == 0 && len(rego.asked) == 0 {
			break
		}
	}
	return 1
}

func tablesOf(t *testing.T, folder string) *tables.Gateway {
	t.Helper()
	snapshot, _, err := source.Dir(filepath.Join(folder, "policies"), source.DirOptions{}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	return tables.Of[*tables.Gateway](result.Tables)
}

// Bundles of older versions lack the steps of policies: their Rego decides.
func TestTablesWithoutSteps(t *testing.T) {
	of := tablesOf(t, "../../../tests/conformance/inheritance/own-authorization")
	if gateway.New(of) == nil || gateway.New(nil) != nil || gateway.New(new(tables.Gateway)) != nil {
		t.Error("tables with gateways and steps decide, and no others")
	}
	for i := range of.Effective {
		of.Effective[i].Steps = nil
	}
	if gateway.New(of) != nil {
		t.Error("tables without steps decide")
	}
}
