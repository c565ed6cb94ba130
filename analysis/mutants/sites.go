package mutants

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// file is a file with documents that may be changed.
type file struct {
	source.File
	documents []*yaml.Node
}

// document is one object of a file: a document, or an item of a list.
type document struct {
	file *file
	root int   // index of the document of the file
	path []int // from the root to the object, as indices of content
	value
	group, kind string
}

func (d *document) name() string      { return d.get("metadata", "name").text() }
func (d *document) namespace() string { return d.get("metadata", "namespace").text() }

// site is one place and how it is widened.
type site struct {
	operator string
	order    int // of the operator
	line     int
	text     string
	document *document
	// apply changes a copy of the document.
	apply func(v value)
}

// directory is the documents of a snapshot.
type directory struct {
	documents []*document
	// principals are those that bindings name, sorted.
	principals []string
	// bound are the roles that a binding names, as KIND/NAMESPACE/NAME.
	bound map[string]bool
	// aggregated are the labels that rules of aggregation select.
	aggregated []label
	master     string // the master namespace
	sites      []site
}

type label struct{ key, value string }

// read returns the documents of a snapshot that operators know. Files that are not YAML are left
// out: they are Rego, or objects of a cluster.
func read(snapshot source.Snapshot, master string) *directory {
	d := &directory{master: master, bound: make(map[string]bool)}
	for _, f := range snapshot.Files {
		if f.Object || strings.HasSuffix(f.Path, ".rego") {
			continue
		}
		documents, err := parse(f.Content.Bytes())
		if err != nil {
			continue
		}
		at := &file{File: f, documents: documents}
		for i, n := range documents {
			d.collect(at, i, nil, value{n})
		}
	}
	for _, doc := range d.documents {
		d.learn(doc)
	}
	slices.Sort(d.principals)
	d.principals = slices.Compact(d.principals)
	return d
}

func (d *directory) collect(f *file, root int, path []int, v value) {
	kind := v.get("kind").text()
	if items := v.get("items"); strings.HasSuffix(kind, "List") && items.Node != nil {
		for i := 0; i+1 < len(v.Content); i += 2 {
			if v.Content[i].Value != "items" {
				continue
			}
			for j, item := range items.items() {
				d.collect(f, root, append(slices.Clone(path), i+1, j), item)
			}
		}
		return
	}
	group, _, _ := strings.Cut(v.get("apiVersion").text(), "/")
	d.documents = append(d.documents, &document{file: f, root: root, path: path, value: v, group: group, kind: kind})
}

// learn notes what operators on other documents need.
func (d *directory) learn(doc *document) {
	if strings.HasSuffix(doc.kind, "RoleBinding") {
		d.principals = append(d.principals, subjectsOf(doc.value)...)
		d.bound[d.roleOf(doc)] = true
	}
	for _, selector := range doc.get("aggregationRule", "clusterRoleSelectors").items() {
		selector.get("matchLabels").members(func(key string, v value) {
			if l := (label{key, v.text()}); !slices.Contains(d.aggregated, l) {
				d.aggregated = append(d.aggregated, l)
			}
		})
	}
}

// subjectsOf returns the principals of a binding.
func subjectsOf(v value) []string {
	var out []string
	for _, s := range v.get("subjects").items() {
		switch name := s.get("name").text(); s.get("kind").text() {
		case "Group":
			out = append(out, tables.Group(name))
		case "ServiceAccount":
			out = append(out, tables.User(tables.Account(s.get("namespace").text(), name)))
		default:
			out = append(out, tables.User(name))
		}
	}
	out = append(out, elements.Map(v.get("groupNames").texts(), tables.Group)...)
	return append(out, elements.Map(v.get("userNames").texts(), tables.User)...)
}

// roleOf returns the role that a binding names.
func (d *directory) roleOf(doc *document) string {
	ref := doc.get("roleRef")
	kind, namespace, name := cmp.Or(ref.get("kind").text(), "Role"), doc.namespace(), cmp.Or(ref.get("name").text(), doc.get("roleName").text())
	if in := ref.get("namespace").text(); in != "" {
		namespace = in
	}
	if doc.get("referencesGlobalRole").text() == "true" {
		namespace = d.master
	}
	if kind == "ClusterRole" {
		namespace = ""
	}
	return kind + "/" + namespace + "/" + name
}

func (doc *document) key() string {
	namespace := doc.namespace()
	if doc.kind == "ClusterRole" {
		namespace = ""
	}
	return doc.kind + "/" + namespace + "/" + doc.name()
}

// operators are the names of all operators, in the order in which sites of one line stand.
var operators = []string{
	"verb-added", "resource-star", "group-star", "resource-added", "names-dropped", "rule-copied", "subject-added", "binding-widened", "aggregation-label-added",
	"deny-dropped", "negation-dropped", "restriction-dropped",
	"policy-dropped", "rule-dropped", "verb-dropped", "resource-dropped", "scope-narrowed", "names-narrowed", "namespace-exempted",
	"threshold-raised", "block-factor-dropped", "fail-open", "exemption-added",
	"cluster-added", "default-all", "filter-dropped", "permission-added", "priority-swapped", "validity-dropped",
	"rule-unset", "when-added", "anonymous-added", "override-to-default", "route-added", "limit-dropped",
}

// add adds a site at a node of a document.
func (d *directory) add(doc *document, operator string, at value, text string, apply func(v value)) {
	line := doc.Line
	if at.Node != nil && at.Line > 0 {
		line = at.Line
	}
	d.sites = append(d.sites, site{operator: operator, order: slices.Index(operators, operator), line: line, text: text, document: doc, apply: apply})
}

// find fills the sites, in the order of files, lines and operators.
func (d *directory) find() {
	for _, doc := range d.documents {
		switch {
		case doc.group == "rbac.authorization.k8s.io" && strings.HasSuffix(doc.kind, "Role"):
			d.kubernetesRole(doc)
		case doc.group == "rbac.authorization.k8s.io" && strings.HasSuffix(doc.kind, "RoleBinding"):
			d.kubernetesBinding(doc)
		case doc.kind == "Role" && doc.get("rules").Node != nil:
			d.originRules(doc, "rules")
		case doc.kind == "RoleBinding":
			d.originBinding(doc)
		case doc.kind == "Policy" && doc.get("roles").Node != nil:
			doc.get("roles").members(func(key string, _ value) { d.originRules(doc, "roles", key, "rules") })
		case doc.kind == "DenyPolicy":
			d.denyPolicy(doc)
		case doc.kind == "MonitorAccessPolicy":
			d.monitorPolicy(doc)
		case doc.kind == "AuthPolicy" || doc.kind == "RateLimitPolicy" || doc.kind == "TokenRateLimitPolicy":
			d.gatewayPolicy(doc)
		case doc.kind == "HTTPRoute" || doc.kind == "GRPCRoute":
			d.route(doc)
		}
	}
	slices.SortStableFunc(d.sites, func(x, y site) int {
		return cmp.Or(cmp.Compare(x.document.file.Path, y.document.file.Path), x.line-y.line, x.order-y.order)
	})
}

// content returns the file of a site with the site changed.
func (s *site) content() []byte {
	f := s.document.file
	root := clone(f.documents[s.document.root])
	n := root
	for _, i := range s.document.path {
		n = n.Content[i]
	}
	s.apply(value{n})
	return write(f.Path, f.Content.Bytes(), f.documents[s.document.root], root)
}
