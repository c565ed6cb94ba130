package translator_test

import (
	"fmt"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// Documents of other projects are skipped. Documents that look like a misspelt one of a
// family are errors: a role that is skipped grants nothing, and a denial denies nothing.
func TestForeignDocuments(t *testing.T) {
	const slip = diag.UnknownKind
	for _, row := range []struct {
		name, text string
		skipped    int
		code       diag.Code // of the only error; empty: none
	}{
		{"a deployment", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}", 1, ""},
		{"the core group", "{apiVersion: v1, kind: ConfigMap, data: {a: b}}", 1, ""},
		{"values", "replicas: 2\nrbac: {rules: []}", 1, ""},
		{"text", "just text", 1, ""},
		{"a number", "7", 1, ""},
		{"a list of others", "[{a: b}, x, 1]", 1, ""},
		{"nothing", "# a comment\n---\nnull\n---\n", 0, ""},
		{"a kind without an apiVersion", "kind: Something", 1, ""},
		{"an apiVersion without a kind", "apiVersion: v1", 1, ""},
		{"several in a file", "a: b\n---\nkind: Role\nname: r\nnamespace: n\n---\nc: d", 2, ""},

		{"items of a List", "{apiVersion: v1, kind: List, items: [{kind: X}, {kind: Y}, null, 1]}", 3, ""},
		{"a List in a List", "{kind: List, items: [{kind: List, items: [{kind: X}]}]}", 1, ""},
		{"a list of another group", "{apiVersion: apps/v1, kind: DeploymentList, items: []}", 1, ""},
		{"a List of another version", "{apiVersion: v2, kind: List, items: [{kind: X}]}", 1, ""},
		{"a List of another version with a role", "{apiVersion: v2, kind: List, items: [{kind: X}, {kind: Role}]}", 0, slip},
		{"a list in lower case with a role", "{apiVersion: v1, kind: list, items: [{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}]}", 0, slip},
		{"a sequence of documents", "- a\n- {apiVersion: writ.dev/v1, kind: Role}", 0, slip},
		{"a sequence with a slip", "- {roleRef: {name: x}}", 0, slip},
		{"a sequence in a sequence", "- - {kind: DenyPolicy}", 0, slip},

		{"a group one edit away", "{apiVersion: rbac.authorisation.k8s.io/v1, kind: X}", 0, slip},
		{"a group two edits away", "{apiVersion: kuadrnt.ioo/v1, kind: X}", 0, slip},
		{"a group three edits away", "{apiVersion: kuadrnt.iooo/v1, kind: X}", 1, ""},
		{"a group with swapped letters", "{apiVersion: gatewya.networking.k8s.io/v1, kind: X}", 0, slip},
		{"a group in capitals", "{apiVersion: RBAC.authorization.k8s.io/v1, kind: X}", 0, slip},
		{"a group without a version", "{apiVersion: rbac.authorization.k8s.io, kind: Role}", 0, slip},
		{"writ.dev misspelt", "{apiVersion: wirt.dev/v1, kind: X}", 0, slip},
		{"another version", "{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: Role}", 0, slip},
		{"another kind", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleList}", 0, slip},

		{"a relative of a group", "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XListenerSet}", 1, ""},
		{"a Gateway of a relative", "{apiVersion: gateway.solo.io/v1, kind: Gateway}", 1, ""},
		{"a Gateway of Istio", "{apiVersion: networking.istio.io/v1, kind: Gateway}", 1, ""},
		{"a Gateway of another gateway", "{apiVersion: gateway.example.com/v1, kind: Gateway}", 0, slip},
		{"a policy of a gateway", "{apiVersion: gateway.nginx.org/v1, kind: RateLimitPolicy, spec: {targetRef: {name: x}}}", 1, ""},
		{"a policy of another kuadrant", "{apiVersion: kuadrant.example.com/v1, kind: ratelimitpolicy}", 0, slip},
		{"a Policy of Kyverno", "{apiVersion: kyverno.io/v1, kind: Policy}", 1, ""},
		{"a Role of OpenShift", "{apiVersion: authorization.openshift.io/v1, kind: Role}", 0, slip},
		{"a Role of another project", "{apiVersion: iam.example.com/v1, kind: Role, rules: []}", 1, ""},
		{"a DenyPolicy of breakglass", "{apiVersion: breakglass.example.com/v1, kind: DENYPOLICY}", 0, slip},
		{"a MetricSource of clusterpulse", "{apiVersion: x.clusterpulse.io/v1, kind: MetricSource}", 0, slip},
		{"a kind of ours in the core group", "{apiVersion: v1, kind: authpolicy}", 0, slip},
		{"a kind of ours without an apiVersion", "{kind: HTTPRoute, metadata: {name: x}}", 0, slip},
		{"a decision test without an apiVersion", "{kind: DecisionTest}", 0, slip},

		{"kinds of our groups without policy", "{apiVersion: kuadrant.io/v1beta1, kind: DNSPolicy}", 1, ""},
		{"one of breakglass", "{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: AuditConfig}", 1, ""},
		{"one of clusterpulse", "{apiVersion: clusterpulse.io/v1alpha1, kind: ClusterConnection}", 1, ""},
		{"one of the Gateway API", "{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: x}}", 1, ""},
		{"one in another group", "{apiVersion: kuadrant.io/v1, kind: GatewayClass}", 0, slip},
		{"one in lower case", "{apiVersion: kuadrant.io/v1, kind: dnspolicy}", 0, slip},

		{"a roleRef", "metadata: {name: x}\nroleRef: {name: y}", 0, slip},
		{"a roleRef of another kind", "apiVersion: example.com/v1\nkind: X\nroleRef: {name: y}", 1, ""},
		{"a roleRef without a kind", "apiVersion: example.com/v1\nroleRef: {name: y}", 0, slip},
		{"a roleRef that is null", "roleRef: null", 1, ""},
		{"a list of rules", "rules: []", 0, slip},
		{"a mapping of rules", "rules: {a: b}", 1, ""},
		{"a list of subjects", "kind: X\nsubjects: []", 0, slip},
		{"a target", "spec: {targetRef: {name: x}}", 0, slip},
		{"keys of the flat form in capitals", "{name: x, Rules: []}", 0, slip},
		{"keys in capitals", "{Rules: []}", 1, ""},

		{"a repeated key", "{apiVersion: v1, kind: X, a: 1, a: 2}", 1, ""},
		{"a repeated key in JSON", `{"apiVersion": "v1", "kind": "X", "a": {"b": 1, "b": 2}}`, 1, ""},
		{"a tag", "Resources: !Ref x", 1, ""},
		{"a key that is a list", "? [a, b]\n: c", 1, ""},
		{"a repeated key in an item of others", "{kind: List, items: [{kind: X, a: 1, a: 2}, {kind: role, name: r, namespace: n}]}", 1, ""},
		{"a repeated key in an item of ours", "{kind: List, items: [{kind: X}, {kind: role, name: r, name: s, namespace: n}]}", 1, diag.YAML},
		{"a repeated key in a List", "{kind: List, items: [{kind: X}], items: []}", 1, diag.YAML},
		{"two documents without a marker between", "{apiVersion: v1, kind: ConfigMap, apiVersion: writ.dev/v1, kind: Role}", 0, diag.YAML},
		{"two documents in JSON", `{"apiVersion": "v1", "kind": "X", "apiVersion": "v1", "kind": "DenyPolicy"}`, 0, diag.YAML},
		{"two documents of others", "{apiVersion: v1, kind: ConfigMap, apiVersion: apps/v1, kind: Deployment}", 1, ""},
		{"a kind that a role repeats", "{apiVersion: v1, kind: ConfigMap, kind: Role, metadata: {name: x}}", 0, diag.YAML},
		{"a List that a document repeats", "{apiVersion: v1, kind: ConfigMap, kind: List, items: [{kind: X}]}", 0, diag.YAML},
		{"two items of a List without a dash between", "{kind: List, items: [{apiVersion: v1, kind: X, apiVersion: writ.dev/v1, kind: Role}]}", 0, diag.YAML},
		{"apiVersion and kind in another case", "{APIVersion: writ.dev/v1, Kind: Role, Metadata: {Name: x}}", 0, slip},
		{"those of others", "{APIVersion: apps/v1, Kind: Role, Metadata: {Name: x}}", 1, ""},
		{"a kind without policy in another case", "{APIVersion: kuadrant.io/v1, Kind: DNSPolicy}", 1, ""},
		{"a tag in a role", "{kind: role, name: r, namespace: n, rules: !x []}", 0, diag.YAML},
	} {
		t.Run(row.name, func(t *testing.T) {
			read := translator.Kinds().Decode("f.yaml", []byte(row.text), syntax.Options{})
			if len(read.Skipped) != row.skipped {
				t.Errorf("skipped %+v, want %d", read.Skipped, row.skipped)
			}
			if row.code == "" && len(read.List) > 0 {
				t.Errorf("got %+v", read.List)
			}
			if row.code != "" && (len(read.List) == 0 || read.List[0].Code != row.code || read.List[0].Severity != diag.Error) {
				t.Errorf("got %+v, want %s", read.List, row.code)
			}
		})
	}
}

// A skipped document is located at its kind, or at its first key.
func TestSkippedPlaces(t *testing.T) {
	read := translator.Kinds().Decode("f.yaml", []byte("apiVersion: apps/v1\nkind: Deployment\n---\n\nreplicas: 2\n---\nkind: 3\n---\n# text\n- x\n"), syntax.Options{})
	var got []string
	for _, s := range read.Skipped {
		got = append(got, fmt.Sprintf("%s:%d %q %q", s.At.File, s.At.Line, s.APIVersion, s.Kind))
	}
	same(t, "skipped", got, []string{`f.yaml:2 "apps/v1" "Deployment"`, `f.yaml:5 "" ""`, `f.yaml:7 "" "3"`, `f.yaml:10 "" ""`})
}
