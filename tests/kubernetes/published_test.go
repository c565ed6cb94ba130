package kubernetes

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

var (
	published = flag.String("real", filepath.Join("testdata", "published"), "a directory whose folders are projects that publish RBAC")
	depth     = flag.Int("depth", 1, "how many folders above a project there are below the directory")
	perFolder = flag.Int("requests-each", 2_000, "how many requests to compare in each project")
)

// defaultNamespace is that of documents without one, as kubectl fills it in.
const defaultNamespace = "default"

// TestPublished asks about the files of projects as their repositories have them: among
// documents of other kinds, without namespaces, beside the roles that every cluster has.
func TestPublished(t *testing.T) {
	projects, err := filepath.Glob(filepath.Join(*published, strings.Repeat("*/", *depth)))
	if err != nil || len(projects) == 0 {
		t.Fatalf("got no projects below %s: %v", *published, err)
	}
	total := 0
	for _, project := range projects {
		name, err := filepath.Rel(*published, project)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			p := readProject(t, project)
			if len(p.documents()) == 0 {
				t.Skip("no RBAC")
			}
			w := p.applied()
			hash := fnv.New64a()
			hash.Write([]byte(name))
			requests := newGenerator(*seed, hash.Sum64()).requests(w, *perFolder)
			decisions, err := evaluate(p.folder, requests, "--bootstrap-roles", "kubernetes", "--cluster-export", "--default-namespace", defaultNamespace)
			if err != nil {
				t.Fatal(err)
			}
			k := newKubernetes(w)
			allowed := 0
			for i, r := range requests {
				if k.allows(r) {
					allowed++
				}
				if why := k.difference(r, decisions[i]); why != "" {
					t.Fatalf("seed %d: %+v: %s", *seed, r, why)
				}
			}
			total += len(requests)
			t.Logf("%d files, %d left out as variants, %d documents of RBAC; %d requests, %d allowed",
				p.files, p.variants, len(p.documents()), len(requests), allowed)
			if allowed < len(requests)/20 {
				t.Errorf("%d of %d requests are allowed: the generator proves little", allowed, len(requests))
			}
		})
	}
	t.Logf("%d requests in %d projects", total, len(projects))
	if total == 0 && *published == flag.Lookup("real").DefValue {
		t.Error("no project has RBAC")
	}
}

// project is the RBAC of a project.
type project struct {
	world
	folder          string // has the files that count
	files, variants int
}

// readProject reads the files of a project in their order. A file that declares what an
// earlier one does is another variant of one installation, and is left out.
func readProject(t *testing.T, dir string) *project {
	t.Helper()
	p := &project{folder: t.TempDir()}
	declared := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var file world
		if err := file.decode(content); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		p.files++
		names := file.names()
		if slices.ContainsFunc(names, func(name string) bool { return declared[name] }) || repeats(names) {
			p.variants++
			return nil
		}
		for _, name := range names {
			declared[name] = true
		}
		p.add(&file)
		return os.WriteFile(filepath.Join(p.folder, fmt.Sprintf("%04d%s", p.files, filepath.Ext(path))), content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func repeats(names []string) bool {
	slices.Sort(names)
	return len(slices.Compact(slices.Clone(names))) < len(names)
}

func (w *world) add(other *world) {
	w.roles = append(w.roles, other.roles...)
	w.clusterRoles = append(w.clusterRoles, other.clusterRoles...)
	w.roleBindings = append(w.roleBindings, other.roleBindings...)
	w.clusterRoleBindings = append(w.clusterRoleBindings, other.clusterRoleBindings...)
}

// names identify the documents.
func (w *world) names() (names []string) {
	for _, p := range w.documents() {
		o := p.object.(metav1.Object)
		names = append(names, p.kind+" "+o.GetNamespace()+"/"+o.GetName())
	}
	return names
}

// decode adds the documents of RBAC of a file, as an API server stores them.
func (w *world) decode(content []byte) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err = yaml.YAMLToJSON(text)
		if err != nil {
			return err
		}
		if err := w.decodeOne(text); err != nil {
			return err
		}
	}
}

func (w *world) decodeOne(text []byte) error {
	var any struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(text, &any) != nil {
		return nil // a list or a scalar
	}
	if any.APIVersion == "v1" && any.Kind == "List" {
		for _, item := range any.Items {
			if err := w.decodeOne(item); err != nil {
				return err
			}
		}
	}
	if any.APIVersion != rbacv1.SchemeGroupVersion.String() {
		return nil
	}
	switch any.Kind {
	case "Role":
		return decodeInto(text, &w.roles, func(r *rbacv1.Role) { r.Namespace = cmp.Or(r.Namespace, defaultNamespace) })
	case "ClusterRole":
		return decodeInto(text, &w.clusterRoles, func(r *rbacv1.ClusterRole) { r.Namespace = "" })
	case "RoleBinding":
		return decodeInto(text, &w.roleBindings, func(b *rbacv1.RoleBinding) {
			b.Namespace = cmp.Or(b.Namespace, defaultNamespace)
			fillSubjects(b.Subjects, b.Namespace)
		})
	case "ClusterRoleBinding":
		return decodeInto(text, &w.clusterRoleBindings, func(b *rbacv1.ClusterRoleBinding) {
			b.Namespace = ""
			fillSubjects(b.Subjects, defaultNamespace)
		})
	}
	return nil
}

func decodeInto[D any](text []byte, all *[]*D, fill func(*D)) error {
	document := new(D)
	if err := json.Unmarshal(text, document); err != nil {
		return err
	}
	fill(document)
	*all = append(*all, document)
	return nil
}

// fillSubjects sets the group of users and groups, and the namespace of service accounts.
func fillSubjects(subjects []rbacv1.Subject, namespace string) {
	for i := range subjects {
		s := &subjects[i]
		if s.Kind == rbacv1.ServiceAccountKind {
			s.Namespace = cmp.Or(s.Namespace, namespace)
		} else {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

// applied is the cluster in which the project is installed: its documents take the place of
// those that every cluster has, and bindings without a role are ignored.
func (p *project) applied() *world {
	w := bootstrapWorld()
	own := map[string]bool{}
	for _, name := range p.names() {
		own[name] = true
	}
	w.roles = slices.DeleteFunc(w.roles, func(r *rbacv1.Role) bool { return own["Role "+r.Namespace+"/"+r.Name] })
	w.clusterRoles = slices.DeleteFunc(w.clusterRoles, func(r *rbacv1.ClusterRole) bool { return own["ClusterRole /"+r.Name] })
	w.roleBindings = slices.DeleteFunc(w.roleBindings, func(b *rbacv1.RoleBinding) bool { return own["RoleBinding "+b.Namespace+"/"+b.Name] })
	w.clusterRoleBindings = slices.DeleteFunc(w.clusterRoleBindings, func(b *rbacv1.ClusterRoleBinding) bool { return own["ClusterRoleBinding /"+b.Name] })
	w.add(&p.world)
	roles := map[string]bool{}
	for _, name := range w.names() {
		roles[name] = true
	}
	isThere := func(ref rbacv1.RoleRef, namespace string) bool {
		if ref.Kind == "ClusterRole" {
			namespace = ""
		}
		return roles[ref.Kind+" "+namespace+"/"+ref.Name]
	}
	w.roleBindings = slices.DeleteFunc(w.roleBindings, func(b *rbacv1.RoleBinding) bool { return !isThere(b.RoleRef, b.Namespace) })
	w.clusterRoleBindings = slices.DeleteFunc(w.clusterRoleBindings, func(b *rbacv1.ClusterRoleBinding) bool { return !isThere(b.RoleRef, "") })
	return w
}
