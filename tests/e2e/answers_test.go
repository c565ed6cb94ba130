package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shells are policies of writ about shells in pods and about acting as others. RBAC of the API
// server grants their users nothing.
const shells = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shell}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
- {apiGroups: [""], resources: [pods/exec], verbs: [get, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: act-as-bob}
rules: [{apiGroups: [""], resources: [users], verbs: [impersonate], resourceNames: [bob]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shells}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shell}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: erin}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: act-as-bob}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: act-as-bob}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: erin}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: no-shells}
spec:
  rules: [{verbs: [get, create], apiGroups: [""], resources: [pods/exec], namespaces: {patterns: [kube-*]}}]
`

// request is a request of an authenticated user, as writ eval reads it.
type request struct {
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Verb        string   `json:"verb"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource,omitempty"`
	Name        string   `json:"name,omitempty"`
	Namespace   string   `json:"namespace,omitempty"`
}

func ask(user, verb, resource, name, namespace string) request {
	r := request{User: user, Groups: []string{"system:authenticated"}, Verb: verb, Name: name, Namespace: namespace}
	r.Resource, r.Subresource, _ = strings.Cut(resource, "/")
	return r
}

// eval returns which requests the command allows.
func (c *controlPlane) eval(t *testing.T, dir string, requests ...request) []bool {
	t.Helper()
	input := &strings.Builder{}
	for _, r := range requests {
		check(t, json.NewEncoder(input).Encode(r))
	}
	stdout, stderr, status := c.run(t, input.String(), "eval", "--policies", dir)
	var allowed []bool
	for line := range strings.Lines(stdout) {
		var decision struct{ Allowed bool }
		check(t, json.Unmarshal([]byte(line), &decision))
		allowed = append(allowed, decision.Allowed)
	}
	if status != 0 || len(allowed) != len(requests) {
		t.Fatalf("got %d, %d decisions for %d requests: %s", status, len(allowed), len(requests), stderr)
	}
	return allowed
}

// answers compares what the API server responds to kubectl with what writ eval decides.
func (c *controlPlane) answers(t *testing.T, dir string) {
	var requests []request
	for _, user := range []string{"erin", "bob"} {
		for _, namespace := range []string{"default", "kube-system"} {
			for _, verb := range []string{"get", "create"} {
				requests = append(requests, ask(user, verb, "pods", "", namespace), ask(user, verb, "pods/exec", "shell", namespace))
			}
		}
		for _, target := range []string{"bob", "dave"} {
			requests = append(requests, ask(user, "impersonate", "users", target, ""))
		}
	}
	allowed := 0
	for i, want := range c.eval(t, dir, requests...) {
		r := requests[i]
		args := []string{"--context", "admin", "auth", "can-i", r.Verb, strings.Trim(r.Resource+"/"+r.Name, "/"), "--as", r.User}
		if r.Subresource != "" {
			args = append(args, "--subresource", r.Subresource)
		}
		if r.Namespace != "" {
			args = append(args, "--namespace", r.Namespace)
		}
		stdout, stderr, status := c.kubectl(t, args...)
		if isYes := status == 0 && stdout == "yes\n"; isYes != want || status > 1 {
			t.Errorf("%v: got %d, %s%s, want %t", args, status, stdout, stderr, want)
		}
		if want {
			allowed++
		}
	}
	if want := 5; allowed != want { // of erin: pods in two namespaces, two verbs of exec in one, bob
		t.Errorf("%d requests are allowed, want %d", allowed, want)
	}
	c.shells(t, dir)
	c.actAs(t, dir)
	stdout, stderr, _ := c.kubectl(t, "--context", "admin", "--namespace", "default", "--as", "erin", "auth", "can-i", "--list")
	if !strings.Contains(stderr, "the list may be incomplete") || strings.Contains(stdout, "pods/exec") || !strings.Contains(stdout, "selfsubjectreviews") {
		t.Errorf("an API server lists the rules of RBAC alone: got %s%s", stdout, stderr)
	}
}

// shells lets users execute a command in pods that no node runs.
func (c *controlPlane) shells(t *testing.T, dir string) {
	for _, namespace := range []string{"default", "kube-system"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shell"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		_, err := c.clients.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
		check(t, err)
		for _, user := range []string{"erin", "bob"} {
			_, stderr, _ := c.kubectl(t, "--context", "admin", "--token", "token-of-"+user, "--namespace", namespace, "exec", "shell", "--", "true")
			passes := strings.Contains(stderr, "does not have a host assigned")
			may := c.eval(t, dir, ask(user, "get", "pods", "shell", namespace), ask(user, "get", "pods/exec", "shell", namespace), ask(user, "create", "pods/exec", "shell", namespace))
			if want := !slices.Contains(may, false); passes != want || !passes && !strings.Contains(stderr, "orbidden") {
				t.Errorf("exec of %s in %s: got %s, want %t", user, namespace, stderr, want)
			}
		}
	}
}

// actAs lets users act as others.
func (c *controlPlane) actAs(t *testing.T, dir string) {
	for _, user := range []string{"erin", "bob"} {
		for _, target := range []string{"bob", "dave"} {
			stdout, stderr, status := c.kubectl(t, "--context", "admin", "--token", "token-of-"+user, "--as", target, "auth", "whoami")
			passes := status == 0 && regexp.MustCompile(`(?m)^Username +`+target+`$`).MatchString(stdout)
			if want := c.eval(t, dir, ask(user, "impersonate", "users", target, ""))[0]; passes != want || !passes && !strings.Contains(stderr, "you do not have permission") {
				t.Errorf("%s as %s: got %s%s, want %t", user, target, stdout, stderr, want)
			}
		}
	}
}

// rule is a line of a list: the resources, the names and the verbs.
var rule = regexp.MustCompile(`(?m)^(\S+) +\[\] +\[(.*)\] +\[(.*)\]$`)

// listed compares a list of what erin may do in the namespace default, of kubectl, with what
// writ eval decides.
func (c *controlPlane) listed(t *testing.T, dir, list string) {
	t.Helper()
	var requests []request
	for _, resource := range []string{"pods", "pods/exec", "configmaps", "users"} {
		for _, name := range []string{"bob", "dave"} {
			for _, verb := range []string{"get", "list", "create", "delete", "impersonate"} {
				requests = append(requests, ask("erin", verb, resource, name, "default"))
			}
		}
	}
	rules := rule.FindAllStringSubmatch(list, -1)
	if len(rules) != 3 {
		t.Errorf("got %d rules, want 3:\n%s", len(rules), list)
	}
	for i, want := range c.eval(t, dir, requests...) {
		r := requests[i]
		got := slices.ContainsFunc(rules, func(rule []string) bool {
			return rule[1] == strings.Trim(r.Resource+"/"+r.Subresource, "/") && (rule[2] == "" || rule[2] == r.Name) && slices.Contains(strings.Fields(rule[3]), r.Verb)
		})
		if got != want {
			t.Errorf("%+v: listed %t, want %t:\n%s", r, got, want, list)
		}
	}
}
