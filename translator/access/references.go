package access

import (
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

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
