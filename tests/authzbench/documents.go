package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// documentsPerFile is how many documents of Kubernetes are in one file.
const documentsPerFile = 1000

// clusterRole is the role as a document of Kubernetes.
func (r *role) clusterRole() *rbacv1.ClusterRole {
	out := &rbacv1.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: r.Name}}
	for _, one := range r.Rules {
		out.Rules = append(out.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Verbs: one.Verbs, Resources: one.Resources})
	}
	return out
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// document is the binding as a document of Kubernetes: a *RoleBinding, or a *ClusterRoleBinding
// if it has no namespace.
func (b *binding) document() any {
	subject := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: b.User}
	if b.Group != "" {
		subject.Kind, subject.Name = rbacv1.GroupKind, b.Group
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: b.Role}
	meta := metav1.ObjectMeta{Name: b.Name, Namespace: b.Namespace}
	if b.Namespace == "" {
		return &rbacv1.ClusterRoleBinding{TypeMeta: typeMeta("ClusterRoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{subject}}
	}
	return &rbacv1.RoleBinding{TypeMeta: typeMeta("RoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{subject}}
}

// writeDocuments writes roles and bindings as documents of Kubernetes.
func writeDocuments(w *world, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var all []any
	for i := range w.Roles {
		all = append(all, w.Roles[i].clusterRole())
	}
	for i := range w.Bindings {
		all = append(all, w.Bindings[i].document())
	}
	for from := 0; from < len(all); from += documentsPerFile {
		var text bytes.Buffer
		for _, document := range all[from:min(from+documentsPerFile, len(all))] {
			one, err := yaml.Marshal(document)
			if err != nil {
				return err
			}
			text.WriteString("---\n")
			text.Write(one)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("documents-%06d.yaml", from)), text.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// changeDocument renames the binding's own file into its place, or removes it.
func changeDocument(dir string, b *binding, bound bool) error {
	file := filepath.Join(dir, b.Name+".yaml")
	if !bound {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := yaml.Marshal(b.document())
	if err != nil {
		return err
	}
	beside := filepath.Join(filepath.Dir(dir), b.Name)
	if err := os.WriteFile(beside, text, 0o600); err != nil {
		return err
	}
	return os.Rename(beside, file)
}
