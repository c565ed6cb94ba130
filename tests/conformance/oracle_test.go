package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/deny"
)

// extensions are the restrictions in Rego of the suites, in Go.
var extensions = map[string]func(oracle.Request, map[string]any) any{
	"ticket": func(r oracle.Request, params map[string]any) any {
		if r.Attributes["ticket"] == nil {
			return "unknown"
		}
		return contains(params["open"], r.Attributes["ticket"])
	},
	"office": func(r oracle.Request, params map[string]any) any {
		if params["read"] != true {
			return nil
		}
		return r.Attributes["answer"]
	},
	"approvedChange": func(r oracle.Request, params map[string]any) any {
		return contains(params["changes"], r.Attributes["change"])
	},
	"regionIs": func(r oracle.Request, params map[string]any) any {
		if r.Attributes["region"] == nil {
			return "unknown"
		}
		return r.Attributes["region"] == params["region"]
	},
}

func contains(list, value any) bool {
	return slices.Contains(list.([]any), value)
}

// The wanted answers and the oracle are both written from the meaning of the
// documents, by hand. Where they differ one of them misread it.
func TestOracleAgrees(t *testing.T) {
	var folders []string
	for _, family := range []string{"access", "deny"} {
		found, err := filepath.Glob(family + "/*/cases.jsonl")
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d suites, %v", family, len(found), err)
		}
		folders = append(folders, found...)
	}
	compared := 0
	for _, path := range folders {
		folder := filepath.Dir(path)
		if filepath.Base(folder) == "own-cel" {
			continue // the oracle has its few expressions by hand and reads no others
		}
		world := load(t, filepath.Join(folder, "policies"))
		for _, c := range lines[conformanceCase](t, path) {
			if want := c.Want.(map[string]any); want["error"] != nil {
				continue // the oracle takes requests, not JSON
			}
			var r oracle.Request
			if err := json.Unmarshal(c.Input, &r); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			world.Now = time.Now()
			if c.Now != "" {
				var err error
				if world.Now, err = time.Parse(time.RFC3339Nano, c.Now); err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
			}
			d := world.Decide(r)
			if d.Matched == nil {
				d.Matched = []oracle.Entry{}
			}
			answer := map[string]any{"allowed": d.Allowed, "denied": d.Denied, "reason": d.Reason, "matched": d.Matched}
			if d.PodSecurity != nil {
				answer["podSecurity"] = d.PodSecurity
			}
			if len(d.Undecidable) > 0 || len(d.PodWarnings) > 0 || d.Named != "" {
				var warnings []string
				if d.Named != "" {
					warnings = append(warnings, d.Named)
				}
				warnings = append(warnings, d.PodWarnings...)
				for _, u := range d.Undecidable {
					warnings = append(warnings, fmt.Sprintf("%s %s/%s rule %d: %s undecidable", u.Kind, u.Namespace, u.Name, u.Rule, u.Restrictions))
				}
				answer["warnings"] = warnings
			}
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if why := differs(got, withoutSources(c.Want), ""); why != "" {
				t.Errorf("%s: %s\nrequest: %s\noracle: %s", c.Name, why, c.Input, text)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("no cases")
	}
}

// withoutSources leaves out where the rules stand: the oracle reads no text.
func withoutSources(want any) any {
	object := want.(map[string]any)
	matched, _ := object["matched"].([]any)
	for _, entry := range matched {
		delete(entry.(map[string]any), "source")
		delete(entry.(map[string]any), "binding")
	}
	return object
}

// load reads the documents of a directory of valid ones. It knows all spellings
// by looking at no case of any key.
func load(t *testing.T, folder string) *access.World {
	w := &access.World{Master: "master", Extensions: extensions}
	readDocuments(t, folder, func(document node) { loadDocument(w, document, "", "") })
	return w
}

// readDocuments reads each document of a folder, as writ finds them.
func readDocuments(t *testing.T, folder string, add func(document node)) {
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".json":
			return readFile(path, add)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(path string, add func(document node)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for decoder := yaml.NewDecoder(file); ; {
		var written yaml.Node
		if err := decoder.Decode(&written); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		takeTimesAsWritten(&written)
		var document map[string]any
		if err := written.Decode(&document); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		add(document)
	}
}

// takeTimesAsWritten makes times without quotes texts, as documents have them: the decoder would make a
// time of a date alone, which is not one to writ.
func takeTimesAsWritten(n *yaml.Node) {
	if n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, child := range n.Content {
		takeTimesAsWritten(child)
	}
}

// loadDocument adds one document; namespace and name are those its container
// gives it.
func loadDocument(w *access.World, d node, namespace, name string) {
	for _, head := range []node{d, d.object("metadata")} {
		name, namespace = head.text("name", name), head.text("namespace", namespace)
	}
	kubernetes := d.text("apiVersion", "") == access.KubernetesVersion
	denied := d.text("apiVersion", "") == deny.Version
	switch kind := strings.ToLower(d.text("kind", "")); {
	case kind == "list":
		for _, item := range d.list("items") {
			loadDocument(w, item.(map[string]any), "", "")
		}
	case denied && kind == "denypolicy":
		p := denyPolicy(d.object("spec"), name)
		p.Dates = annotatedDates(d)
		w.DenyPolicies = append(w.DenyPolicies, p)
	case denied && kind == "clusterconfig":
		if w.Tenants == nil {
			w.Tenants = make(map[string]string)
		}
		w.Tenants[name] = d.object("spec").text("tenant", "")
	case denied && loadSession(w, d, namespace, name):
	case denied:
		w.Escalations = append(w.Escalations, escalation(d.object("spec"), namespace, name))
	case kubernetes && strings.HasSuffix(kind, "binding"):
		w.KubernetesBindings = append(w.KubernetesBindings, kubernetesBinding(d, namespace, name))
	case kubernetes:
		w.KubernetesRoles = append(w.KubernetesRoles, kubernetesRole(d, namespace, name))
	case kind == "role":
		w.OriginRoles = append(w.OriginRoles, originRole(d, namespace, name))
	case kind == "rolebinding":
		w.OriginBindings = append(w.OriginBindings, originBinding(d, namespace, name))
	case kind == "policy" || kind == "policybinding":
		inside := map[string]string{"policy": "roles", "policybinding": "roleBindings"}[kind]
		for key, value := range d.object(inside) {
			inner := node{"kind": map[string]string{"roles": "Role", "roleBindings": "RoleBinding"}[inside]}
			maps.Copy(inner, value.(map[string]any))
			loadDocument(w, inner, namespace, key)
		}
	}
}

func originRole(d node, namespace, name string) *access.OriginRole {
	role := &access.OriginRole{Namespace: namespace, Name: name}
	for _, item := range append(d.list("rules"), d.list("rule")...) {
		rule := node(item.(map[string]any))
		made := &access.OriginRule{Deny: fmt.Sprint(rule.get("deny")) == "true", Verbs: rule.texts("verbs"), Kinds: rule.texts("resourceKinds")}
		if restrictions := rule.object("attributeRestrictions"); restrictions != nil {
			made.Restrictions = &access.Restrictions{
				Fields: restrictions.texts("fieldsMutatable"), Labels: restrictions.texts("labelsContain"), Select: restrictions.texts("fieldsSelect"),
				Kind: restrictions.text("kind", ""), Params: restrictions,
			}
		}
		role.Rules = append(role.Rules, made)
	}
	return role
}

func originBinding(d node, namespace, name string) *access.OriginBinding {
	b := &access.OriginBinding{
		Namespace: namespace, Name: name, RoleNamespace: namespace, RoleName: d.text("roleName", ""),
		Users: d.texts("userNames"), Groups: d.texts("groupNames"),
	}
	if ref := d.object("roleRef"); ref != nil {
		b.RoleNamespace, b.RoleName = ref.text("namespace", namespace), ref.text("name", "")
	} else if d.get("referencesGlobalRole") == true {
		b.RoleNamespace = "master"
	}
	b.Dates = oracle.Dates{NotBefore: d.text("notBefore", ""), NotAfter: d.text("notAfter", "")}
	return b
}

func annotatedDates(d node) oracle.Dates {
	annotations := d.object("metadata").object("annotations")
	return oracle.Dates{NotBefore: annotations.text("writ.dev/not-before", ""), NotAfter: annotations.text("writ.dev/not-after", "")}
}

func kubernetesRole(d node, namespace, name string) *access.KubernetesRole {
	role := &access.KubernetesRole{Namespace: namespace, Name: name, Labels: map[string]string{}}
	for key, value := range d.object("metadata").object("labels") {
		role.Labels[key] = value.(string)
	}
	for _, item := range d.list("rules") {
		rule := node(item.(map[string]any))
		role.Rules = append(role.Rules, &access.KubernetesRule{
			Verbs: rule.texts("verbs"), APIGroups: rule.texts("apiGroups"), Resources: rule.texts("resources"),
			ResourceNames: rule.texts("resourceNames"), NonResourceURLs: rule.texts("nonResourceURLs"),
		})
	}
	if d.object("aggregationRule") != nil {
		role.Selectors = []oracle.Selector{}
	}
	for _, item := range d.object("aggregationRule").list("clusterRoleSelectors") {
		role.Selectors = append(role.Selectors, selector(item.(map[string]any)))
	}
	return role
}

func selector(d node) oracle.Selector {
	var s oracle.Selector
	for key, value := range d.object("matchLabels") {
		s = append(s, oracle.Requirement{Key: key, Operator: "In", Values: []string{value.(string)}})
	}
	for _, expression := range d.list("matchExpressions") {
		e := node(expression.(map[string]any))
		s = append(s, oracle.Requirement{Key: e.text("key", ""), Operator: e.text("operator", ""), Values: e.texts("values")})
	}
	return s
}

func kubernetesBinding(d node, namespace, name string) *access.KubernetesBinding {
	ref := d.object("roleRef")
	b := &access.KubernetesBinding{Namespace: namespace, Name: name, RoleKind: ref.text("kind", ""), RoleName: ref.text("name", ""), Dates: annotatedDates(d)}
	for _, item := range d.list("subjects") {
		s := node(item.(map[string]any))
		b.Subjects = append(b.Subjects, access.Subject{Kind: s.text("kind", ""), Namespace: s.text("namespace", ""), Name: s.text("name", "")})
	}
	return b
}

// node is an object of a document. What is missing or null reads as empty.
type node map[string]any

func (n node) get(key string) any {
	for have, value := range n {
		if strings.EqualFold(have, key) {
			return value
		}
	}
	return nil
}

func (n node) text(key, otherwise string) string {
	if value, ok := n.get(key).(string); ok {
		return value
	}
	return otherwise
}

func (n node) object(key string) node {
	value, _ := n.get(key).(map[string]any)
	return value
}

func (n node) list(key string) []any {
	value, _ := n.get(key).([]any)
	return value
}

func (n node) texts(key string) []string {
	if n.get(key) == nil {
		return nil
	}
	values := []string{}
	for _, item := range n.list(key) {
		values = append(values, item.(string))
	}
	return values
}

// What the oracle's generator writes must be what its worlds mean: read back,
// the documents decide alike.
func TestGeneratedDocumentsMeanTheirWorlds(t *testing.T) {
	compared := 0
	for seed := range uint64(100) {
		files, world := access.GenerateDeny(seed)
		folder := t.TempDir()
		for path, content := range files {
			if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, path), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		read := load(t, folder)
		read.Extensions = world.Extensions
		for _, r := range world.Requests(50) {
			got, want := read.Decide(r), world.Decide(r)
			if got.Reason != want.Reason || !slices.Equal(got.Warnings(), want.Warnings()) || !reflect.DeepEqual(got.PodSecurity, want.PodSecurity) {
				t.Fatalf("seed %d: %s: got %+v, want %+v", seed, r.JSON(), got, want)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("nothing compared")
	}
}
