package kubernetes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/yaml"
)

// Embedded is the path of the file that Compact returns, from the top of the repository.
const Embedded = "translator/roles/bootstrap/kubernetes.yaml"

// Bootstrap is what Kubernetes creates in every cluster, as YAML files sorted by
// namespace and name: equal libraries give equal bytes.
func Bootstrap() (map[string][]byte, error) {
	var roles []rbacv1.Role
	for namespace, list := range bootstrappolicy.NamespaceRoles() {
		for _, role := range list {
			role.Namespace = namespace
			roles = append(roles, role)
		}
	}
	var bindings []rbacv1.RoleBinding
	for namespace, list := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range list {
			binding.Namespace = namespace
			bindings = append(bindings, binding)
		}
	}
	clusterRoles := slices.Concat(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles())
	clusterBindings := slices.Concat(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings())
	files := map[string][]byte{}
	for name, write := range map[string]func() ([]byte, error){
		"clusterroles.yaml":        func() ([]byte, error) { return documents("ClusterRole", clusterRoles) },
		"clusterrolebindings.yaml": func() ([]byte, error) { return documents("ClusterRoleBinding", clusterBindings) },
		"roles.yaml":               func() ([]byte, error) { return documents("Role", roles) },
		"rolebindings.yaml":        func() ([]byte, error) { return documents("RoleBinding", bindings) },
	} {
		text, err := write()
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// documents writes objects of one kind as a file of several documents.
func documents[T any](kind string, objects []T) ([]byte, error) {
	var texts []string
	byPlace := map[string]string{}
	for _, object := range objects {
		text, err := document(kind, object)
		if err != nil {
			return nil, err
		}
		var head metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(text, &head); err != nil {
			return nil, err
		}
		byPlace[head.Namespace+"\x00"+head.Name] = string(text)
	}
	for _, place := range slices.SortedFunc(maps.Keys(byPlace), cmp.Compare[string]) {
		texts = append(texts, byPlace[place])
	}
	var file bytes.Buffer
	for i, text := range texts {
		if i > 0 {
			file.WriteString("---\n")
		}
		file.WriteString(text)
	}
	return file.Bytes(), nil
}

// document writes one object with its kind, without the fields a server fills.
func document(kind string, object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	fields["apiVersion"], fields["kind"] = rbacv1.SchemeGroupVersion.String(), kind
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	return yaml.Marshal(fields)
}

// Compact returns the same documents as one file with a document in JSON on each line, and
// separators between them: what writ embeds.
func Compact() ([]byte, error) {
	files, err := Bootstrap()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, text := range bytes.Split(files[name], []byte("---\n")) {
			line, err := yaml.YAMLToJSON(text)
			if err != nil {
				return nil, err
			}
			if out.Len() > 0 {
				out.WriteString("---\n")
			}
			out.Write(append(bytes.TrimSpace(line), '\n'))
		}
	}
	return out.Bytes(), nil
}
