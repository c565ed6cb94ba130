package diff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A paragraph says who may or may no longer do what, in words: a denial is about everybody,
// with or without a grant, and a change that was not found is only possible.
func TestSentences(t *testing.T) {
	const grant = `{verbs: ["*"], apiGroups: [apps, ""], resources: ["*"]}`
	dev := allowed("r", grant, "dev")
	deny := fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: ["*"], apiGroups: [""], resources: [pods], subresources: [exec]}]}}`, denies)
	named := func(names string) string {
		return fmt.Sprintf(`{%s, metadata: {name: n}, spec: {rules: [{verbs: [get], apiGroups: [""], resources: [pods], resourceNames: [%s]}]}}`, denies, names)
	}
	pods := func(most int) string {
		return fmt.Sprintf("{%s, metadata: {name: p}, spec: {podSecurityRules: {riskFactors: {hostPID: 50}, thresholds: [{maxScore: %d, action: allow}, {maxScore: 100, action: deny}]}}}", denies, most)
	}
	view := func(types string, user string) string {
		return fmt.Sprintf("{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: %s, namespace: ops}, spec: {identity: {subjects: {users: [%s]}}, access: {effect: Allow},"+
			" scope: {clusters: {rules: [{selector: {matchLabels: {env: prod}}, permissions: {view: true}%s}]}}}}", user, user, types)
	}
	const filtered = ", resources: [{type: pods, visibility: filtered, filters: {names: {allowed: [web-*]}}}]"
	rule := func(negated string) []string {
		return origin("o", fmt.Sprintf(`{verbs: ["*", "-get"], resourceKinds: ["*"%s]}`, negated), "dev")
	}
	custom := func(expression string) []string {
		return origin("c", fmt.Sprintf("{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: cel, expression: %q}}", expression), "dev")
	}
	for name, row := range map[string]struct {
		a, b []string
		want []string
	}{
		"a grant":          {dev[:1], dev, []string{"+ group dev gets ClusterRole r in the whole cluster (any verb on all resources of apps, core, with impersonate, secrets, workloads, exec and 9 more)    ClusterRoleBinding r ("}},
		"a denial removed": {append(dev[:2:2], deny), dev, []string{"+ everybody with a grant can now use any verb on pods/exec    DenyPolicy d (", "1 subject: group dev\n", "+ everybody without a grant is no longer denied: any verb on pods/exec"}},
		"a denial added":   {dev, append(dev[:2:2], deny), []string{"- everybody can no longer use any verb on pods/exec ", "- everybody without a grant is now denied: any verb on pods/exec"}},
		"a wider denial":   {append(dev[:2:2], named("x")), append(dev[:2:2], named("x, y")), []string{"- everybody can no longer get pods with name x, y (with exec and port-forward)", "except what DenyPolicy n denied before: get pods with name x ("}},
		"pods":             {append(dev[:2:2], pods(60)), append(dev[:2:2], pods(10)), []string{"- everybody can no longer exec, attach, portforward into pods by their score", "    a pod with hostPID (score 50)\n", "pods (1 class)"}},
		"a negation":       {rule(", -secrets"), rule(""), []string{"+ group dev can now use any verb but get on all resources in the whole cluster (with secrets and delete)", "except what RoleBinding master/o allowed before: any verb but get on all resources but secrets ("}},
		"items":            {[]string{view("", "u"), view("", "v")}, []string{view(filtered, "u"), view("", "v")}, []string{"- user u can no longer see all of clusters with label env=prod and see pods in clusters with label env=prod "}},
		"an expression":    {custom("request.user == 'x'"), custom("request.user == 'xx'"), []string{"~ group dev can now get pods where request.user == 'xx' in the whole cluster (possible) ", "~ group dev can no longer get pods where request.user == 'x' in the whole cluster (possible) ", "CEL expressions (2 classes)"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare(t, row.a, row.b).Text(50, false)
			for _, want := range row.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %s\nwant %s in it", got, want)
				}
			}
		})
	}
}

// A class of several changes is one result, with the rule of the most dangerous one and all
// changes in its message. The place is a URI.
func TestSARIF(t *testing.T) {
	dev := allowed("r", `{verbs: [get], apiGroups: [""], resources: [pods]}`, "dev")
	report := compare(t, append(dev[:2:2], fmt.Sprintf(`{%s, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}}`, denies)), dev)
	for i := range report.Statements {
		report.Statements[i].Documents[0].Source = "my team/ü#1.yaml:7"
	}
	for i := range report.Groups {
		report.Groups[i].Causes = nil
	}
	text, err := report.SARIF("1")
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID    string `json:"ruleId"`
				RuleIndex int    `json:"ruleIndex"`
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
				Properties struct{ Changes []string }
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != len(report.Classes) || len(report.Classes) != 1 {
		t.Fatalf("got %s and %v, want a result for the one class", text, err)
	}
	got := log.Runs[0].Results[0]
	if got.RuleID != "change-gain" || got.RuleIndex != 0 || got.Level != "warning" || !slices.Equal(got.Properties.Changes, []string{"gain", "relax"}) ||
		got.Message.Text != "everybody with a grant can now get pods (with exec and port-forward); everybody without a grant is no longer denied: get pods (with exec and port-forward)" {
		t.Errorf("got %+v", got)
	}
	if place := got.Locations[0].PhysicalLocation; place.ArtifactLocation.URI != "my%20team/%C3%BC%231.yaml" || place.Region.StartLine != 7 {
		t.Errorf("got the place %+v", place)
	}
}
