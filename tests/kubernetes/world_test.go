package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// world is a set of valid RBAC documents.
type world struct {
	roles               []*rbacv1.Role
	clusterRoles        []*rbacv1.ClusterRole
	roleBindings        []*rbacv1.RoleBinding
	clusterRoleBindings []*rbacv1.ClusterRoleBinding
}

// request is a canonical access request.
type request struct {
	User        string   `json:"user"`
	Groups      []string `json:"groups,omitempty"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup,omitempty"`
	Resource    string   `json:"resource,omitempty"`
	Subresource string   `json:"subresource,omitempty"`
	Namespace   string   `json:"namespace,omitempty"`
	Name        string   `json:"name,omitempty"`
	Path        string   `json:"path,omitempty"`
}

// attributes are the request as an API server's authorizers get it.
func (r request) attributes() authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: r.User, Groups: r.Groups}, Verb: r.Verb,
		APIGroup: r.APIGroup, Resource: r.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name, Path: r.Path, ResourceRequest: r.Path == "",
	}
}

// documents are all documents of the world, each with its kind.
func (w *world) documents() []pair {
	var all []pair
	for _, r := range w.roles {
		all = append(all, pair{"Role", r})
	}
	for _, r := range w.clusterRoles {
		all = append(all, pair{"ClusterRole", r})
	}
	for _, b := range w.roleBindings {
		all = append(all, pair{"RoleBinding", b})
	}
	for _, b := range w.clusterRoleBindings {
		all = append(all, pair{"ClusterRoleBinding", b})
	}
	return all
}

type pair struct {
	kind   string
	object any
}

// write puts the documents into a new folder, in several files. It panics where
// the disk fails: it runs beside the test's own goroutine.
func (w *world) write(t testing.TB) string {
	folder := t.TempDir()
	const files = 3
	var texts [files]bytes.Buffer
	for i, p := range w.documents() {
		text, err := document(p.kind, p.object)
		if err != nil {
			panic(err)
		}
		file := &texts[i%files]
		if file.Len() > 0 {
			file.WriteString("---\n")
		}
		file.Write(text)
	}
	for i, name := range [files]string{"a.yaml", "b.yml", "c.yaml"} {
		if err := os.WriteFile(filepath.Join(folder, name), texts[i].Bytes(), 0o644); err != nil {
			panic(err)
		}
	}
	return folder
}

// aggregated is the world after Kubernetes' controller has filled the
// aggregated roles: the least fixed point, whatever their own rules said.
func (w *world) aggregated() *world {
	filled := *w
	filled.clusterRoles = nil
	for _, role := range w.clusterRoles {
		role = role.DeepCopy()
		if role.AggregationRule != nil {
			role.Rules = nil
		}
		filled.clusterRoles = append(filled.clusterRoles, role)
	}
	slices.SortFunc(filled.clusterRoles, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	for changed := true; changed; {
		changed = false
		for _, role := range filled.clusterRoles {
			changed = fill(role, filled.clusterRoles) || changed
		}
	}
	return &filled
}

// fill adds to an aggregated role what it lacks of the roles it selects.
func fill(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) bool {
	before := len(role.Rules)
	if role.AggregationRule == nil {
		return false
	}
	for _, written := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&written)
		if err != nil {
			panic(err) // only valid documents come here
		}
		for _, other := range all {
			if other == role || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			for _, rule := range other.Rules {
				if !slices.ContainsFunc(role.Rules, func(have rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(have, rule) }) {
					role.Rules = append(role.Rules, rule)
				}
			}
		}
	}
	return len(role.Rules) != before
}
