package agreement

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/deny"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// Each world has as many deny policies, each of which names one request in canonical
// form, and each is asked about that many spellings.
const (
	policiesPerWorld   = 40
	spellingsPerPolicy = 10
)

// denial is a request in canonical form and the spellings of it that must not escape a
// policy that names it. Requests of the cluster are in the scope of that policy alone.
type denial struct {
	cluster   string
	canonical oracle.Request
	spellings []oracle.Request
}

// denials draws requests near what a world grants.
func denials(seed uint64, world *access.World) []denial {
	draw := random.New(seed, 3)
	var all []denial
	for _, r := range world.Requests(4 * policiesPerWorld) {
		if r.Path != "" || strings.Contains(r.Verb+r.APIGroup+r.Resource+r.Subresource, "*") || len(all) == policiesPerWorld {
			continue // a request for "*" is not in canonical form
		}
		r.Verb, r.Subresource = strings.ToLower(r.Verb), strings.ToLower(r.Subresource)
		if r.Resource = strings.ToLower(r.Resource); draw.Once(2) {
			r.Resource = oracle.Plural(r.Resource)
		}
		// As verbs, exec and proxy stand for a subresource and no other verb.
		switch {
		case r.Verb == "proxy" || r.Subresource == "proxy":
			r.Verb, r.Subresource = "proxy", "proxy"
		case r.Verb == "exec" || r.Subresource == "exec" || draw.Once(6):
			r.Verb, r.Subresource = "create", "exec"
		}
		r.Cluster = fmt.Sprintf("c%d", len(all))
		d := denial{cluster: r.Cluster, canonical: r}
		for range spellingsPerPolicy {
			spelling := r
			deny.Respell(draw, &spelling)
			d.spellings = append(d.spellings, spelling)
		}
		all = append(all, d)
	}
	return all
}

// policies writes a deny policy for each denial.
func policies(all []denial) string {
	var text strings.Builder
	for _, d := range all {
		fmt.Fprintf(&text, `---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: %s}
spec:
  appliesTo: {clusters: [%[1]s]}
  rules: [{verbs: [%q], apiGroups: [%q], resources: [%q], subresources: [%q]}]
`, d.cluster, d.canonical.Verb, d.canonical.APIGroup, d.canonical.Resource, d.canonical.Subresource)
	}
	return text.String()
}

// A request that is granted in some spelling is denied by a policy that names its
// canonical form.
func TestNoSpellingEscapesADenial(t *testing.T) {
	t.Parallel()
	granted, respelled := 0, 0
	for seed := firstWorld(); seed < firstWorld()+uint64(max(denyWorlds(), 3)); seed++ {
		files, world := access.Generate(seed)
		all := denials(seed, world)
		files["forms.yaml"] = policies(all)
		bundle := build(t, seed, files)
		embedded, err := engine.Activate(context.Background(), bundle, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stock := stockOPA(t, bundle)
		for i, d := range all {
			for j, spelling := range d.spellings {
				without := spelling
				if without.Cluster = "elsewhere"; !world.Decide(without).Allowed {
					continue
				}
				granted++
				if spelling.Verb != d.canonical.Verb || spelling.Resource != d.canonical.Resource || spelling.Subresource != d.canonical.Subresource {
					respelled++
				}
				if got, _ := ofEngine(t, embedded, spelling.JSON()); !deniedBy(got, d.cluster) {
					t.Fatalf("world %d, engine: %s escapes the policy of %s: %+v", seed, spelling.JSON(), d.canonical.JSON(), got)
				}
				if (i+j)%stockEvery != 0 {
					continue
				}
				if got := ofStock(t, stock, spelling.JSON()); !deniedBy(got, d.cluster) {
					t.Fatalf("world %d, OPA: %s escapes the policy of %s: %+v", seed, spelling.JSON(), d.canonical.JSON(), got)
				}
			}
		}
	}
	if respelled == 0 {
		t.Errorf("no request of %d that are granted is respelled", granted)
	}
	t.Logf("%d respelled requests of %d that are granted", respelled, granted)
}

func deniedBy(a answer, policy string) bool {
	return a.Denied && len(a.Matched) == 1 && a.Matched[0].Kind == "DenyPolicy" && a.Matched[0].Name == policy
}

// Each part of the definition of forms is needed: without it, some spelling escapes.
func TestEachPartOfTheFormsIsNeeded(t *testing.T) {
	t.Parallel()
	const seed = 1 // a world that has spellings for each part
	files, world := access.Generate(seed)
	all := denials(seed, world)
	files["forms.yaml"] = policies(all)
	bundle := build(t, seed, files)
	if got := escapes(t, stockOPA(t, bundle), all); got != "" {
		t.Fatalf("the library as it is: %s", got)
	}
	for _, row := range partsOfForms {
		if escapes(t, stockOPA(t, withoutPart(t, bundle, row.name, row.part, row.without)), all) == "" {
			t.Errorf("%s: no spelling escapes without it", row.name)
		}
	}
}

// formsPath is the definition of forms, and partsOfForms its parts with what stands for
// them in a library that lacks them.
const formsPath = "writ/access/request/forms.rego"

var partsOfForms = []struct{ name, part, without string }{
	{"lower-case verbs", "{canonical.verb, _verb}", "{canonical.verb}"},
	{"lower-case subresources", "{canonical.subresource, lower(canonical.subresource)}", "{canonical.subresource}"},
	{"lower-case resources", "lower(canonical.resource)", "canonical.resource"},
	{"kinds in another number", "data.compiled.deny_resources.named[", "{canonical.resource: [lower(canonical.resource)]}["},
	{"exec as a verb", `_actions contains ["create", _stream] if _stream == "exec"`, ""},
	{"a verb that means a subresource", "_actions contains [verb, _stream] if some verb in _verbs", ""},
}

// escapes returns the first spelling that its policy does not deny, empty if all are
// denied.
func escapes(t *testing.T, stock rego.PreparedEvalQuery, all []denial) string {
	t.Helper()
	for _, d := range all {
		for _, spelling := range d.spellings {
			if got := ofStock(t, stock, spelling.JSON()); !deniedBy(got, d.cluster) {
				return spelling.JSON()
			}
		}
	}
	return ""
}

// Every form of a request for a subresource of a pod asks for the pod.
func TestEveryFormAsksForThePod(t *testing.T) {
	t.Parallel()
	bundle := build(t, 0, map[string]string{"p.yaml": `
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: p}
spec: {podSecurityRules: {riskFactors: {}, thresholds: [{maxScore: 0, action: allow}]}}
`})
	e, err := engine.Activate(context.Background(), bundle, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		verb, group, resource, subresource string
		want                               bool
	}{
		{"create", "", "pods", "exec", true},
		{"get", "", "Pod", "attach", true},
		{"GET", "", "podses", "PortForward", true},
		{"EXEC", "", "pods", "", true},
		{"exec", "", "POD", "", true},
		{"exec", "", "pods", "log", false},
		{"proxy", "", "pods", "", false},
		{"get", "", "pods", "", false},
		{"get", "", "pods", "log", false},
		{"exec", "kubevirt.io", "pods", "", false},
		{"exec", "", "podtemplates", "", false},
	} {
		facts, err := e.MissingFacts(context.Background(), &decision.Request{
			User: "u", Verb: row.verb, APIGroup: row.group, Resource: row.resource, Subresource: row.subresource, Namespace: "n", Name: "p",
		})
		if err != nil || facts.Pod != row.want {
			t.Errorf("%+v: got %v, %v", row, facts.Pod, err)
		}
	}
}
