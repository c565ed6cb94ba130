package access

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Family is the roles and bindings of Kubernetes and Origin. It reuses the results for
// unchanged documents; its results do not depend on earlier documents. The zero value has
// no documents. It is not safe for concurrent use.
type Family struct {
	references references
	lowerer    lowerer
	resolved   *Resolved
	table      *tables.Access
	warnings   diag.List
	unchanged  directory.Unchanged
}

// Kinds returns the kinds of the family.
func (*Family) Kinds() syntax.Kinds { return slices.Concat(kubernetesKinds, originKinds()) }

// NewTable returns an empty table.
func (*Family) NewTable() tables.Table { return new(tables.Access) }

// Resolved returns the documents of the last Lower with their references, nil before the
// first.
func (f *Family) Resolved() *Resolved { return f.resolved }

// Lower returns the table of the documents: that of the last directory, the same value, if no
// document that it is made of has changed.
func (f *Family) Lower(d *directory.Directory) (tables.Table, diag.List) {
	if f.unchanged.Holds(d, isRead) {
		return f.table, f.warnings
	}
	began := d.Mark()
	f.resolved = f.references.resolve(d)
	f.table, f.warnings = f.lowerer.lower(f.resolved)
	f.unchanged.Keep(d, began)
	return f.table, f.warnings
}

// Emit returns the files of a table.
func (*Family) Emit(table tables.Table, o emit.Options) map[string][]byte {
	return emitFiles(table.(*tables.Access), o)
}

// References returns the role of the binding.
func (b *KubernetesBinding) References(string) []syntax.Reference {
	return []syntax.Reference{reference(b.RoleName, b.role())}
}

// References returns the role of the binding.
func (b *OriginBinding) References(master string) []syntax.Reference {
	return []syntax.Reference{reference(b.RoleName, b.role(master))}
}

func reference(name syntax.Text, id directory.Identity) syntax.Reference {
	return syntax.Reference{At: name.At, Family: id.Family, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// rolesOfKubernetes returns the roles that a field of a binding may name.
func rolesOfKubernetes(f syntax.ReferringField) (out []syntax.Reference) {
	if f.Path != "roleRef.name" {
		return nil
	}
	if f.Beside["kind"] != kindRole {
		out = append(out, syntax.Reference{Family: FamilyKubernetes, Kind: kindClusterRole})
	}
	if f.Kind == "RoleBinding" && f.Beside["kind"] != kindClusterRole {
		out = append(out, syntax.Reference{Family: FamilyKubernetes, Kind: kindRole, Namespace: f.Namespace})
	}
	return out
}

// rolesOfOrigin returns the roles that a field of a binding may name.
func rolesOfOrigin(f syntax.ReferringField) (out []syntax.Reference) {
	if f.Path != "roleRef.name" && f.Path != "roleName" {
		return nil
	}
	for _, namespace := range []string{f.Namespace, f.Master} {
		if given := f.Beside["namespace"]; given == "" || given == namespace || f.Path == "roleName" {
			out = append(out, syntax.Reference{Family: familyOrigin, Kind: kindRole, Namespace: namespace})
		}
	}
	return out
}
