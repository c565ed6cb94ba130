package access

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle"
)

// story is the tale of Clark, Hubert, Edgar and the bots.
func story() *World {
	master := func(name string, rules ...*OriginRule) *OriginRole {
		return &OriginRole{Namespace: "master", Name: name, Rules: rules}
	}
	return &World{
		Master: "master",
		OriginRoles: []*OriginRole{
			master("view", allow("watch list get", "* -roles -roleBindings -policyBindings -policies")),
			master("edit", allow("*", "* -roles -roleBindings -policyBindings -policies -resourceAccessReview")),
			master("admin", allow("* -create -update -delete", "*"), allow("create update delete", "* -roles -policyBindings")),
			master("cluster-admin", allow("*", "*")),
			master("kubelet", allow("*", "Pod").with(Restrictions{Kind: "sameMinionRestriction"})),
			{Namespace: "hammer", Name: "deploymentConfigLabelers", Rules: []*OriginRule{
				allow("watch list get", "DeploymentConfig"),
				allow("update", "DeploymentConfig").with(Restrictions{Fields: []string{"labels"}}),
			}},
			{Namespace: "hammer", Name: "fatFingeredEditor", Rules: []*OriginRule{
				originDenial("delete", "DeploymentConfig").with(Restrictions{Labels: []string{"protected"}}),
			}},
		},
		OriginBindings: []*OriginBinding{
			{Namespace: "master", Name: "ClusterAdmins", RoleNamespace: "master", RoleName: "cluster-admin", Users: []string{"Clark"}, Groups: []string{"cluster-admins"}},
			{Namespace: "master", Name: "Kubelets", RoleNamespace: "master", RoleName: "kubelet", Users: []string{"kubelet-01", "kubelet-02"}},
			{Namespace: "hammer", Name: "ProjectAdmins", RoleNamespace: "master", RoleName: "admin", Users: []string{"Hubert"}},
			{Namespace: "hammer", Name: "Editors", RoleNamespace: "master", RoleName: "edit", Users: []string{"Edgar"}},
			{Namespace: "hammer", Name: "Viewers", RoleNamespace: "master", RoleName: "view", Users: []string{"Vera"}},
			{Namespace: "hammer", Name: "DeploymentConfigLabelerBots", RoleNamespace: "hammer", RoleName: "deploymentConfigLabelers", Users: []string{"ProtectorBot", "DeprotectorBot"}},
			{Namespace: "hammer", Name: "FatFingeredEditors", RoleNamespace: "hammer", RoleName: "fatFingeredEditor", Users: []string{"Edgar"}},
		},
	}
}

func allow(verbs, kinds string) *OriginRule {
	return &OriginRule{Verbs: strings.Fields(verbs), Kinds: strings.Fields(kinds)}
}

func originDenial(verbs, kinds string) *OriginRule {
	rule := allow(verbs, kinds)
	rule.Deny = true
	return rule
}

func (rule *OriginRule) with(s Restrictions) *OriginRule {
	rule.Restrictions = &s
	return rule
}

// bound is a world of roles "r" that are bound as "b" to u, one a namespace.
func bound(namespace string, rules ...*OriginRule) *World {
	return (&World{Master: "master"}).bind(namespace, "b", "u", rules...)
}

func (w *World) bind(namespace, name, user string, rules ...*OriginRule) *World {
	w.OriginRoles = append(w.OriginRoles, &OriginRole{Namespace: namespace, Name: name, Rules: rules})
	b := &OriginBinding{Namespace: namespace, Name: name, RoleNamespace: namespace, RoleName: name}
	if group, ok := strings.CutPrefix(user, "group:"); ok {
		b.Groups = []string{group}
	} else {
		b.Users = []string{user}
	}
	w.OriginBindings = append(w.OriginBindings, b)
	return w
}

// kubernetes adds a ClusterRole "k" with the rules, bound in a namespace, or
// cluster-wide where that is empty.
func (w *World) kubernetes(namespace string, subject Subject, rules ...*KubernetesRule) *World {
	w.KubernetesRoles = append(w.KubernetesRoles, &KubernetesRole{Name: "k", Rules: rules})
	w.KubernetesBindings = append(w.KubernetesBindings, &KubernetesBinding{
		Namespace: namespace, Name: "k", RoleKind: "ClusterRole", RoleName: "k", Subjects: []Subject{subject},
	})
	return w
}

func kubernetesRule(verbs, resources string, names ...string) *KubernetesRule {
	return &KubernetesRule{Verbs: strings.Fields(verbs), APIGroups: []string{"*"}, Resources: strings.Fields(resources), ResourceNames: names}
}

func urls(verb, url string) *KubernetesRule {
	return &KubernetesRule{Verbs: []string{verb}, NonResourceURLs: []string{url}}
}

// ask is a request from words: USER VERB WHAT [in NAMESPACE]. WHAT is a path
// or resource[/sub][:name].
func ask(words string) oracle.Request {
	f := strings.Fields(words)
	r := oracle.Request{User: f[0], Verb: f[1]}
	if strings.HasPrefix(f[2], "/") {
		r.Path = f[2]
		return r
	}
	r.Resource, r.Name, _ = strings.Cut(f[2], ":")
	r.Resource, r.Subresource, _ = strings.Cut(r.Resource, "/")
	if len(f) == 5 && f[3] == "in" {
		r.Namespace = f[4]
	}
	return r
}

func with(r oracle.Request, change func(*oracle.Request)) oracle.Request {
	change(&r)
	return r
}

func labels(pairs map[string]string) func(*oracle.Request) {
	return func(r *oracle.Request) { r.Labels = pairs }
}
func fields(paths ...string) func(*oracle.Request) {
	return func(r *oracle.Request) { r.Fields = paths }
}
func groups(names ...string) func(*oracle.Request) {
	return func(r *oracle.Request) { r.Groups = names }
}
func onNode(minion, node string) func(*oracle.Request) {
	return func(r *oracle.Request) {
		r.Attributes = map[string]any{"minion": minion}
		r.Pod = map[string]any{"spec": map[string]any{"nodeName": node}}
	}
}

// wants are written A, D or N, then the matched entries NAMESPACE/BINDING#RULE
// where they matter, and ! for undecidable.
func TestWorkedExamples(t *testing.T) {
	user := Subject{Kind: "User", Name: "u"}
	everything := kubernetesRule("*", "*")
	noSecrets := bound("master", allow("*", "-Secret *"))
	noDelete := bound("master", allow("* -delete", "pods"))
	scaling := bound("master", originDenial("update", "widgets").with(Restrictions{Fields: []string{"spec.replicas"}}), allow("*", "*"))
	three := bound("x", allow("*", "*")).bind("x", "deny", "u", originDenial("*", "secrets")).bind("master", "m", "u", allow("*", "*"))
	borrowed := &World{Master: "master",
		OriginRoles: []*OriginRole{{Namespace: "master", Name: "r", Rules: []*OriginRule{originDenial("*", "secrets")}}},
		OriginBindings: []*OriginBinding{
			{Namespace: "b", Name: "deny", RoleNamespace: "master", RoleName: "r", Users: []string{"u"}}}}
	borrowed.bind("b", "allow", "u", allow("*", "*"))
	empty := func() *World { return &World{Master: "master"} }
	named := empty().kubernetes("", user, kubernetesRule("get list", "configmaps", "a"))
	api := empty().kubernetes("", user, urls("get", "/api/*"))
	local := empty().kubernetes("x", user, everything, urls("*", "*"))
	bot := empty().kubernetes("x", Subject{Kind: "ServiceAccount", Name: "bot"}, everything)
	aggregated := empty().kubernetes("", user, kubernetesRule("list", "secrets"))
	aggregated.KubernetesRoles[0].Selectors = []oracle.Selector{{{Key: "a", Operator: "In", Values: []string{"1"}}}}
	aggregated.KubernetesRoles = append(aggregated.KubernetesRoles,
		&KubernetesRole{Name: "p", Labels: map[string]string{"a": "1"}, Rules: []*KubernetesRule{kubernetesRule("get", "pods")}})
	crowns := bound("master").bind("master", "crowns", "group:system:authenticated", originDenial("*", "crowns")).kubernetes("", user, everything)

	for _, row := range []struct {
		example string
		world   *World
		request oracle.Request
		want    string
	}{
		{"1", story(), ask("Clark delete nodes"), "A master/ClusterAdmins#0"},
		{"2", story(), ask("Clark get /healthz"), "N"},
		{"3", story(), ask("Hubert create rolebindings in hammer"), "A hammer/ProjectAdmins#1"},
		{"4", story(), ask("Hubert update roles in hammer"), "N"},
		{"5", story(), ask("Hubert patch roles in hammer"), "N"},
		{"6", story(), ask("Hubert get pods in anvil"), "N"},
		{"7", story(), ask("Edgar create resourceaccessreviews in hammer"), "N"},
		{"8", story(), with(ask("Edgar delete deploymentconfigs in hammer"), labels(map[string]string{"protected": "no"})), "D hammer/FatFingeredEditors#0 hammer/Editors#0"},
		{"9", story(), with(ask("Edgar delete deploymentconfigs in hammer"), labels(map[string]string{})), "A hammer/Editors#0"},
		{"10", story(), ask("Edgar delete deploymentconfigs in hammer"), "D hammer/FatFingeredEditors#0 hammer/Editors#0 !"},
		{"11", story(), with(ask("Edgar delete deploymentconfigs in hammer"), groups("cluster-admins")), "A master/ClusterAdmins#0 hammer/FatFingeredEditors#0 hammer/Editors#0 !"},
		{"12", story(), with(ask("ProtectorBot update deploymentconfigs in hammer"), fields("metadata.labels.x")), "A hammer/DeploymentConfigLabelerBots#1"},
		{"13", story(), with(ask("ProtectorBot update deploymentconfigs in hammer"), fields("labels", "spec.replicas")), "N"},
		{"14", story(), with(ask("kubelet-01 update pods/status in hammer"), onNode("n1", "n1")), "A master/Kubelets#0"},
		{"15", story(), with(ask("kubelet-01 update pods/status in hammer"), onNode("n1", "n2")), "N"},
		{"16", story(), ask("Vera get pods/exec in hammer"), "N"},
		{"17", bound("master", allow("*", "-secrets")), ask("u get pods"), "N"},
		{"18 secrets", noSecrets, with(ask("u get secrets"), func(r *oracle.Request) { r.APIGroup = "any.example.com" }), "N"},
		{"18 pods", noSecrets, ask("u get pods"), "A master/b#0"},
		{"19", bound("master", allow("*", "* -secrets"), allow("get", "secrets")), ask("u get secrets"), "A master/b#1"},
		{"20", noDelete, ask("u deletecollection pods"), "N"},
		{"21", noDelete, ask("u * pods"), "N"},
		{"22", bound("master", originDenial("delete", "pods"), allow("*", "*")), ask("u * pods"), "D master/b#0 master/b#1"},
		{"23", bound("master", allow("get", "Policy")), ask("u get policies"), "A master/b#0"},
		{"24 status", bound("master", allow("update", "*/status")), ask("u update nodes/status"), "A master/b#0"},
		{"24 nodes", bound("master", allow("update", "*/status")), ask("u update nodes"), "N"},
		{"25 attach", bound("master", allow("exec", "Pod")), ask("u get pods/attach in x"), "A master/b#0"},
		{"25 create", bound("master", allow("exec", "Pod")), ask("u create pods in x"), "N"},
		{"26 update", scaling, ask("u update widgets in x"), "D master/b#0 master/b#1 !"},
		{"26 delete", scaling, ask("u delete widgets in x"), "A master/b#1"},
		{"27", three, ask("u get secrets in x"), "A master/m#0 x/deny#0 x/b#0"},
		{"28 b", borrowed, ask("u get secrets in b"), "D b/deny#0 b/allow#0"},
		{"28 c", borrowed, ask("u get secrets in c"), "N"},
		{"29", empty().kubernetes("", user, kubernetesRule("get", "pods")), ask("u get pods/log in x"), "N"},
		{"30 get", named, ask("u get configmaps:a in x"), "A /k#0"},
		{"30 list", named, ask("u list configmaps in x"), "N"},
		{"30 list narrowed", named, ask("u list configmaps:a in x"), "A /k#0"},
		{"31 /api", api, ask("u get /api"), "N"},
		{"31 /api/", api, ask("u get /api/"), "A /k#0"},
		{"31 /api/v1", api, ask("u get /api/v1"), "A /k#0"},
		{"32 nodes", local, ask("u get nodes"), "N"},
		{"32 metrics", local, ask("u get /metrics"), "N"},
		{"33 own", bot, ask("system:serviceaccount:x:bot get pods in x"), "A x/k#0"},
		{"33 other", bot, ask("system:serviceaccount:y:bot get pods in x"), "N"},
		{"34", empty().kubernetes("", Subject{Kind: "Group", Name: "system:authenticated"}, everything), ask("u get pods"), "N"},
		{"35 aggregated", aggregated, ask("u get pods"), "A /k#0"},
		{"35 own rules", aggregated, ask("u list secrets"), "N"},
		{"36", bound("x", originDenial("delete", "pods")).kubernetes("", user, everything), ask("u delete pods in x"), "A /k#0 x/b#0"},
		{"37", bound("x", originDenial("delete", "pods")).kubernetes("x", user, everything), ask("u delete pods in x"), "D x/b#0 x/k#0"},
		{"38 with the group", crowns, with(ask("u get crowns"), groups("system:authenticated")), "D master/crowns#0 /k#0"},
		{"38 without", crowns, ask("u get crowns"), "A /k#0"},
		{"40", empty(), oracle.Request{User: "u", Verb: "get"}, "invalid"},
	} {
		t.Run(row.example, func(t *testing.T) {
			if got := short(row.world.Decide(row.request)); got != row.want {
				t.Errorf("%s: got %q, want %q", row.request.JSON(), got, row.want)
			}
		})
	}
}

func short(d oracle.Decision) string {
	text := "N"
	switch {
	case d.Invalid != "":
		return "invalid"
	case d.Allowed:
		text = "A"
	case d.Denied:
		text = "D"
	}
	for _, e := range d.Matched {
		text += fmt.Sprintf(" %s/%s#%d", e.Namespace, e.Name, e.Rule)
	}
	if len(d.Undecidable) > 0 {
		text += " !"
	}
	return text
}

func TestReason(t *testing.T) {
	for _, row := range []struct {
		name    string
		request oracle.Request
		want    string
	}{
		{"allowed", ask("Edgar get pods in hammer"), "allowed by RoleBinding hammer/Editors (Role master/edit, rule 0)"},
		{"denied", ask("Edgar delete deploymentconfigs in hammer"), "denied by RoleBinding hammer/FatFingeredEditors (Role hammer/fatFingeredEditor, rule 0); would be allowed by RoleBinding hammer/Editors (Role master/edit, rule 0)"},
		{"nothing, namespaced", ask("Hubert get pods/log in anvil"), "not allowed: no rule allows get pods/log in anvil"},
		{"nothing, cluster scope", ask("Hubert get nodes"), "not allowed: no rule allows get nodes at cluster scope"},
		{"nothing, path", ask("Clark get /healthz"), "not allowed: no rule allows get /healthz"},
	} {
		if got := story().Decide(row.request).Reason; got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestWhoCan(t *testing.T) {
	got := fmt.Sprint(story().WhoCan(oracle.Request{Verb: "delete", Resource: "deploymentconfigs", Namespace: "hammer"}))
	want := "{[Clark Hubert] [cluster-admins] [] [{User Edgar 5}]  false}"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSameKind(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"Pod", "pods", true}, {"PODS", "pod", true}, {"policy", "policies", true}, {"gateway", "gateways", true},
		{"gateway", "gatewaies", false}, {"ingress", "ingresses", true}, {"componentstatus", "componentstatuses", true},
		{"cache", "caches", true}, {"Endpoints", "endpoints", true}, {"endpoint", "endpoints", true}, {"pod", "podtemplates", false},
		{"batch", "batches", true}, {"dish", "dishes", true}, {"box", "boxes", true}, {"box", "boxs", false}, {"quiz", "quizes", true},
		{"endpoints", "endpointses", true}, {"pod", "podss", false},
	} {
		if got := oracle.SameKind(row.a, row.b); got != row.want {
			t.Errorf("%s, %s: got %v, want %v", row.a, row.b, got, row.want)
		}
	}
}
