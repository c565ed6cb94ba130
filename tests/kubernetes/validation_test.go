package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/rbac"
	defaults "k8s.io/kubernetes/pkg/apis/rbac/v1"
	"k8s.io/kubernetes/pkg/apis/rbac/validation"
)

// odd is a document that may be broken: the parts that its kind has are not nil.
type odd struct {
	pair
	meta       *metav1.ObjectMeta
	rules      *[]rbacv1.PolicyRule
	aggregated **rbacv1.AggregationRule
	ref        *rbacv1.RoleRef
	subjects   *[]rbacv1.Subject
	broken     []string
}

func oddOf(p pair) *odd {
	o := &odd{pair: p}
	switch v := p.object.(type) {
	case *rbacv1.Role:
		o.meta, o.rules = &v.ObjectMeta, &v.Rules
	case *rbacv1.ClusterRole:
		o.meta, o.rules, o.aggregated = &v.ObjectMeta, &v.Rules, &v.AggregationRule
	case *rbacv1.RoleBinding:
		o.meta, o.ref, o.subjects = &v.ObjectMeta, &v.RoleRef, &v.Subjects
	case *rbacv1.ClusterRoleBinding:
		o.meta, o.ref, o.subjects = &v.ObjectMeta, &v.RoleRef, &v.Subjects
	}
	return o
}

// refused are the errors of Kubernetes' own validation, after its defaults.
func (o *odd) refused() field.ErrorList {
	switch v := o.object.(type) {
	case *rbacv1.Role:
		var internal rbac.Role
		must(defaults.Convert_v1_Role_To_rbac_Role(v.DeepCopy(), &internal, nil))
		return validation.ValidateRole(&internal)
	case *rbacv1.ClusterRole:
		var internal rbac.ClusterRole
		must(defaults.Convert_v1_ClusterRole_To_rbac_ClusterRole(v.DeepCopy(), &internal, nil))
		internal.Namespace = "" // as an API server clears it before it validates
		return validation.ValidateClusterRole(&internal, validation.ClusterRoleValidationOptions{})
	case *rbacv1.RoleBinding:
		v = v.DeepCopy()
		defaults.SetObjectDefaults_RoleBinding(v)
		var internal rbac.RoleBinding
		must(defaults.Convert_v1_RoleBinding_To_rbac_RoleBinding(v, &internal, nil))
		return validation.ValidateRoleBinding(&internal)
	case *rbacv1.ClusterRoleBinding:
		v = v.DeepCopy()
		defaults.SetObjectDefaults_ClusterRoleBinding(v)
		var internal rbac.ClusterRoleBinding
		must(defaults.Convert_v1_ClusterRoleBinding_To_rbac_ClusterRoleBinding(v, &internal, nil))
		internal.Namespace = ""
		return validation.ValidateClusterRoleBinding(&internal)
	}
	panic("no such kind")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// changes break a document, or change it in a way that only looks broken. Keys
// of annotations are not among them: no answer depends on one, and writ takes
// them as they are.
var changes = []struct {
	name  string
	apply func(g generator, o *odd)
}{
	{"name", func(g generator, o *odd) {
		// Kubernetes' validation of these kinds has no longest name; writ rejects what is
		// too long for a file's name.
		o.meta.Name = g.one([]string{"", ".", "..", "a/b", "a%b", "x:y", "Ünal A", "...", strings.Repeat("n", 253)})
	}},
	{"namespace", func(g generator, o *odd) {
		o.meta.Namespace = g.one([]string{"", "x", "kube-system", "..", "a/b", "a%b"})
	}},
	{"namespace that is not a DNS label", func(g generator, o *odd) {
		if o.meta.Namespace != "" {
			o.meta.Namespace = g.one([]string{"Team", "a_b", "a.b", "-a", "a b", strings.Repeat("n", 64), strings.Repeat("n", 63), "0"})
		}
	}},
	{"labels", func(g generator, o *odd) {
		o.meta.Labels = map[string]string{g.one([]string{"a", "a b", "", "a/b/c", "-a", "example.com/a", "UPPER.com/a"}): g.one([]string{"", "1", "a b", "-a", "a/b", strings.Repeat("v", 64)})}
	}},
	{"rule lists", func(g generator, o *odd) {
		if o.rules == nil {
			return
		}
		rule := rbacv1.PolicyRule{}
		for _, list := range []*[]string{&rule.Verbs, &rule.APIGroups, &rule.Resources, &rule.ResourceNames, &rule.NonResourceURLs} {
			switch g.IntN(5) {
			case 0:
				*list = []string{}
			case 1:
				*list = []string{""}
			case 2, 3:
				*list = []string{g.one([]string{"get", "*", "/x", "a b"})}
			}
		}
		*o.rules = append(*o.rules, rule)
	}},
	{"no rules", func(_ generator, o *odd) {
		if o.rules != nil {
			*o.rules = nil
		}
	}},
	{"aggregation", func(g generator, o *odd) {
		if o.aggregated == nil {
			return
		}
		selector := metav1.LabelSelector{}
		switch g.IntN(3) {
		case 0:
			selector.MatchLabels = map[string]string{g.one([]string{"a", "a b", "", "x.y/z", "a/b/c"}): g.one([]string{"", "1", "a b", "_"})}
		case 1:
			selector.MatchExpressions = []metav1.LabelSelectorRequirement{{
				Key:      g.one([]string{"a", "a", "a b", ""}),
				Operator: metav1.LabelSelectorOperator(g.one([]string{"In", "NotIn", "Exists", "DoesNotExist", "Near", "", "in", "Gt"})),
				Values:   g.some(0, 2, []string{"1", "1", "", "a b"}),
			}}
		}
		*o.aggregated = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{selector}}
	}},
	{"aggregation without selectors", func(g generator, o *odd) {
		if o.aggregated != nil {
			*o.aggregated = &rbacv1.AggregationRule{}
		}
	}},
	{"roleRef", func(g generator, o *odd) {
		if o.ref == nil {
			return
		}
		switch g.IntN(3) {
		case 0:
			o.ref.APIGroup = g.one([]string{"", "rbac", "rbac.authorization.k8s.io/v1", "authorization.example.com"})
		case 1:
			o.ref.Kind = g.one([]string{"", "Role", "ClusterRole", "role", "Robot"})
		default:
			o.ref.Name = g.one([]string{"", "a/b", ".", "a%b", "x:y"})
		}
	}},
	{"subject", func(g generator, o *odd) {
		if o.subjects == nil {
			return
		}
		*o.subjects = append(*o.subjects, rbacv1.Subject{
			Kind:      g.one([]string{"User", "Group", "ServiceAccount", "ServiceAccount", "ServiceAccount", "Robot", "", "user", "SystemUser"}),
			APIGroup:  g.one([]string{"", "", "", rbacv1.GroupName, "v1", "rbac.authorization.k8s.io/v1"}),
			Name:      g.one([]string{"", "bot", "bot", "bot.two", "My_SA", "-a", "a b", "*", strings.Repeat("n", 254), "system:serviceaccount:x:y"}),
			Namespace: g.one([]string{"", "x", "x", "Bad NS", "a/b"}),
		})
	}},
	{"no subjects", func(_ generator, o *odd) {
		if o.subjects != nil {
			*o.subjects = nil
		}
	}},
}

// TestValidation shows Kubernetes' own validation and writ the same documents,
// valid and not. What one refuses the other must refuse. Roles that do not exist
// and documents that are there twice are writ's own business.
func TestValidation(t *testing.T) {
	const batch = 20
	if *oddities == 0 {
		t.Fatal("no documents")
	}
	invalid, differences := 0, 0
	for start := 0; start < *oddities; start += batch {
		g := newGenerator(*seed, uint64(start)+1<<32)
		folder := t.TempDir()
		documents := make([]*odd, min(batch, *oddities-start))
		for i := range documents {
			documents[i] = g.odd(fmt.Sprintf("d%d", i))
			save(t, filepath.Join(folder, fmt.Sprintf("%d.yaml", i)), documents[i])
		}
		found, err := complaints(folder)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range documents {
			refused := o.refused()
			if len(refused) > 0 {
				invalid++
			}
			own := complaintsAbout(found, fmt.Sprintf("%d.yaml", i))
			if (len(refused) > 0) != (len(own) > 0) {
				// Once more alone, so that no other document has a say.
				alone := t.TempDir()
				text := save(t, filepath.Join(alone, "0.yaml"), o)
				if found, err = complaints(alone); err != nil {
					t.Fatal(err)
				}
				own = complaintsAbout(found, "0.yaml")
				if (len(refused) > 0) != (len(own) > 0) {
					differences++
					t.Errorf("seed %d: Kubernetes: %v; writ: %v; changed: %q\n%s", *seed, refused, own, o.broken, text)
				}
			}
			if differences >= 10 {
				t.Fatal("and perhaps more")
			}
		}
	}
	t.Logf("%d documents, %d of them invalid", *oddities, invalid)
	if *oddities >= 500 && (invalid < *oddities/10 || invalid > *oddities*9/10) {
		t.Errorf("%d of %d documents are invalid: the generator proves little", invalid, *oddities)
	}
}

// odd draws a valid document and changes it once or twice, or not at all.
func (g generator) odd(name string) *odd {
	for {
		all := g.world().documents()
		if len(all) == 0 {
			continue
		}
		o := oddOf(all[g.IntN(len(all))])
		o.meta.Name = name
		for range g.IntN(3) {
			change := changes[g.IntN(len(changes))]
			change.apply(g, o)
			o.broken = append(o.broken, change.name)
		}
		return o
	}
}

func save(t *testing.T, path string, o *odd) []byte {
	text, err := document(o.kind, o.object)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}

func complaintsAbout(found []complaint, file string) []complaint {
	return slices.DeleteFunc(slices.Clone(found), func(c complaint) bool {
		return c.File != file || c.Code == "dangling-role" || c.Code == "duplicate"
	})
}
