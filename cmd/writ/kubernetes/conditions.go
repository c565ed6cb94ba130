package kubernetes

import (
	"fmt"

	"github.com/writ-policy/writ/translator/cel"
)

// examineConditions evaluates the match conditions for requests that writ must not be
// asked about, and for one that it must.
func (e *examination) examineConditions(w *authorizer) {
	passed := e.begin("conditions")
	var programs []*cel.Match
	for _, c := range w.conditions {
		program, problem := cel.CompileMatch(c.value)
		if problem != nil {
			e.fail(c.at, "correct it: an API server does not start with this file", "%s", problem.Message)
			return
		}
		programs = append(programs, program)
	}
	failed := false
	// isAsked reports whether writ is asked about a request. One failure is reported.
	isAsked := func(who string, request map[string]any) bool {
		for i, program := range programs {
			if failed {
				return false
			}
			holds, err := program.Holds(request)
			if err != nil {
				failed = true
				e.fail(w.conditions[i].at, "guard members that may be absent with has()", "the expression fails for %s, which is denied then: %v", who, err)
				return false
			}
			if !holds {
				return false
			}
		}
		return true
	}
	for _, user := range e.Identities {
		if isAsked("writ itself", resourceRequest(user)) {
			e.fail(w.at, fmt.Sprintf("add the match condition '!(request.user in [%q])'", user),
				"writ is asked about its own requests as %q, which wait for their own answer", user)
		}
	}
	if len(e.Identities) == 0 {
		e.warn(w.at, "--identity USER names who writ is in the cluster", "whether writ is asked about its own requests is not checked")
	}
	for _, each := range []struct {
		who     string
		request map[string]any
	}{
		{"the controller manager", resourceRequest("system:kube-controller-manager")},
		{"the scheduler", resourceRequest("system:kube-scheduler")},
		{"nodes", resourceRequest("system:node:a", "system:nodes")},
		{"service accounts of kube-system", resourceRequest("system:serviceaccount:kube-system:a", "system:serviceaccounts", "system:serviceaccounts:kube-system")},
		{"probes", pathRequest("system:anonymous", "/livez")},
	} {
		if isAsked(each.who, each.request) {
			e.warn(w.at, "writ kubernetes config writes conditions that leave them out", "writ is asked about requests of %s: the cluster does not recover while writ does not answer", each.who)
		}
	}
	for _, each := range []struct {
		what    string
		request map[string]any
	}{{"reads a pod", resourceRequest("ada")}, {"reads /version", pathRequest("ada", "/version")}} {
		if !isAsked("a user who "+each.what, each.request) && !failed {
			e.warn(w.at, "remove the condition that leaves it out unless that is meant", "writ is not asked about a user who %s", each.what)
		}
	}
	passed(w.at, "writ is asked about users, and not about itself and the control plane")
}

func resourceRequest(user string, groups ...string) map[string]any {
	return requestOf(user, groups, "resourceAttributes", map[string]any{
		"verb": "get", "group": "", "version": "v1", "resource": "pods", "subresource": "", "namespace": "default", "name": "a",
	})
}

func pathRequest(user, path string) map[string]any {
	return requestOf(user, nil, "nonResourceAttributes", map[string]any{"verb": "get", "path": path})
}

// requestOf returns the spec of a review as match conditions see it.
func requestOf(user string, groups []string, key string, attributes map[string]any) map[string]any {
	list := []any{"system:authenticated"}
	for _, group := range groups {
		list = append(list, group)
	}
	return map[string]any{"user": user, "groups": list, "uid": "", "extra": map[string]any{}, key: attributes}
}
