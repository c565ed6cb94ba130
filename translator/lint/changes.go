package lint

import (
	"reflect"
	"slices"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// roleChanged reports whether a role differs, ignoring the lines of its rules.
func roleChanged(now, before tables.Role) bool {
	return !reflect.DeepEqual(withoutSources(now), withoutSources(before))
}

func withoutSources(r tables.Role) tables.Role {
	r.Source = ""
	r.Kubernetes = slices.Clone(r.Kubernetes)
	for i := range r.Kubernetes {
		r.Kubernetes[i].Source = ""
	}
	r.Origin = slices.Clone(r.Origin)
	for i := range r.Origin {
		r.Origin[i].Source = ""
	}
	return r
}

// subjectsOf lists the subjects of each binding, sorted.
func subjectsOf(access *tables.Access) map[string][]string {
	out := make(map[string][]string, access.Bindings.Len())
	add := func(subjects tables.Map[[]string]) {
		for subject, keys := range subjects.All() {
			for _, key := range *keys {
				out[key] = append(out[key], subject)
			}
		}
	}
	add(access.Subjects.Cluster)
	for _, subjects := range access.Subjects.Namespaces.All() {
		add(*subjects)
	}
	for _, subjects := range out {
		slices.Sort(subjects)
	}
	return out
}

// places maps the keys of the tables to positions in the documents.
type places struct {
	roles    map[string]diag.Position
	rules    map[string][]diag.Position
	bindings map[string]bindingPlace
}

type bindingPlace struct{ role diag.Position }

func placesOf(r *access.Resolved) places {
	p := places{
		roles:    make(map[string]diag.Position),
		rules:    make(map[string][]diag.Position),
		bindings: make(map[string]bindingPlace),
	}
	for _, role := range r.KubernetesRoles {
		key := tables.RoleKey(role.Document.Family, role.Document.Namespace, role.Document.Name)
		p.roles[key] = role.Document.At
		for i := range role.Rules {
			p.rules[key] = append(p.rules[key], role.Rules[i].At)
		}
	}
	for _, role := range r.OriginRoles {
		key := tables.RoleKey(role.Family, role.Namespace, role.Name)
		p.roles[key] = role.At
		for i := range role.Rules {
			p.rules[key] = append(p.rules[key], role.Rules[i].At)
		}
	}
	for _, b := range r.KubernetesBindings {
		d := b.Document
		p.bindings[tables.BindingKey(d.Family, d.Namespace, d.Name)] = bindingPlace{d.RoleName.At}
	}
	for _, b := range r.OriginBindings {
		d := b.Document
		p.bindings[tables.BindingKey(d.Family, d.Namespace, d.Name)] = bindingPlace{d.RoleName.At}
	}
	return p
}
