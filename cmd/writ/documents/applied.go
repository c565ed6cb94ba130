package documents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Prune selects documents by a label or an annotation, as tools that apply a directory mark
// what they have applied.
type Prune struct {
	IsAnnotation bool
	Key          string
	// Value is the value of the label, or a pattern of the annotation in which "*" stands for
	// any text.
	Value string
}

// ParsePrune parses label:KEY=VALUE or annotation:KEY=GLOB.
func ParsePrune(text string) (Prune, error) {
	kind, rest, _ := strings.Cut(text, ":")
	key, value, found := strings.Cut(rest, "=")
	if kind != "label" && kind != "annotation" || !found || key == "" || value == "" {
		return Prune{}, fmt.Errorf("%q must be label:KEY=VALUE or annotation:KEY=GLOB", text)
	}
	return Prune{kind == "annotation", key, value}, nil
}

func (p Prune) selects(document map[string]any) bool {
	metadata, _ := document["metadata"].(map[string]any)
	if p.IsAnnotation {
		annotations, _ := metadata["annotations"].(map[string]any)
		value, isText := annotations[p.Key].(string)
		return isText && matchesGlob(strings.Split(p.Value, "*"), value)
	}
	labels, _ := metadata["labels"].(map[string]any)
	return labels[p.Key] == p.Value
}

// matchesGlob reports whether a value is the parts of a pattern with any text between them.
func matchesGlob(parts []string, value string) bool {
	rest, found := strings.CutPrefix(value, parts[0])
	if len(parts) == 1 || !found {
		return found && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

// Part is documents that were read and decoded.
type Part struct {
	Snapshot  source.Snapshot
	Documents []syntax.Document
}

// Application is what applying documents to others does.
type Application struct {
	// Snapshot is the documents afterwards.
	Snapshot source.Snapshot
	// Added, Replaced and Pruned are numbers of documents.
	Added, Replaced, Pruned int
}

// Apply applies documents to a base: each replaces the document of its group, kind, namespace and
// name as a whole, and documents of the base that prune selects and that are not among the
// applied ones are gone. What an API server keeps of an object is kept: its time of creation and
// its status. It returns an error if a document cannot be read.
func Apply(base, applied Part, prune []Prune, now time.Time) (*Application, error) {
	out := &Application{}
	written := objects(applied.Documents)
	kept := make(map[identity]map[string]any) // of the base, what the API server keeps
	before := byFile(base.Documents)
	var files []source.File
	replacesModule := func(f source.File) bool {
		hasPath := func(other source.File) bool { return other.Path == f.Path }
		return strings.HasSuffix(f.Path, ".rego") && slices.ContainsFunc(applied.Snapshot.Files, hasPath)
	}
	isCluster := slices.ContainsFunc(base.Snapshot.Origins, func(o source.Origin) bool { return o.Cluster })
	for _, file := range base.Snapshot.Files {
		if replacesModule(file) {
			continue
		}
		next, err := rewrite(file, before[file.Path], func(id identity, document map[string]any) map[string]any {
			switch {
			case written[id]:
				kept[id] = document
				out.Replaced++
			case slices.ContainsFunc(prune, func(p Prune) bool { return p.selects(document) }):
				out.Pruned++
			default:
				return document
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if next != nil {
			files = append(files, *next)
		}
	}
	out.Added = len(written) - len(kept)
	after := byFile(applied.Documents)
	offset := max(1, len(base.Snapshot.Origins))
	for _, file := range applied.Snapshot.Files {
		next, err := rewrite(file, after[file.Path], func(id identity, document map[string]any) map[string]any {
			return asStored(id, document, kept[id], isCluster, now)
		})
		if err != nil {
			return nil, err
		}
		if next == nil {
			continue
		}
		next.Origin += offset
		if slices.ContainsFunc(files, func(f source.File) bool { return f.Path == next.Path }) {
			next.Path = "applied/" + next.Path
		}
		files = append(files, *next)
	}
	slices.SortStableFunc(files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	out.Snapshot = base.Snapshot
	out.Snapshot.Files, out.Snapshot.Commit = files, ""
	out.Snapshot.Origins = slices.Concat(originsOf(base.Snapshot), originsOf(applied.Snapshot))
	return out, nil
}

func originsOf(s source.Snapshot) []source.Origin {
	if len(s.Origins) == 0 {
		return []source.Origin{{}}
	}
	return s.Origins
}

// objectIdentity identifies an object of a cluster: its version is that of one reading.
func objectIdentity(h *syntax.Header) identity {
	group, _, isGroup := strings.Cut(h.APIVersion, "/")
	if !isGroup {
		group = ""
	}
	return identity{group, h.Kind, h.Namespace, h.Name}
}

func objects(documents []syntax.Document) map[identity]bool {
	out := make(map[identity]bool)
	for _, d := range documents {
		if h := d.Meta(); !h.Bootstrap && !h.Shared {
			out[objectIdentity(h)] = true
		}
	}
	return out
}

// place is where the key "kind" of a document is written in its file.
type place struct{ line, column int }

// wholeObject is the place of an object of a cluster, which has a file of its own.
var wholeObject = place{1, 1}

// byFile returns the identities of documents by their places.
func byFile(documents []syntax.Document) map[string]map[place]identity {
	out := make(map[string]map[place]identity)
	for _, d := range documents {
		h := d.Meta()
		if h.Bootstrap || h.Shared {
			continue
		}
		at := place{h.At.Line, h.At.Column}
		if h.Object {
			at = wholeObject
		}
		if out[h.At.File] == nil {
			out[h.At.File] = make(map[place]identity)
		}
		out[h.At.File][at] = objectIdentity(h)
	}
	return out
}

const (
	gatewayGroup  = "gateway.networking.k8s.io"
	kuadrantGroup = "kuadrant.io"
)

// asStored returns a document as an API server stores it beside the object it replaces, if there is
// one, as far as writ reads that: controllers write the status, not those who apply, and routes and
// policies are ordered by when they were created.
func asStored(id identity, document, before map[string]any, isCluster bool, now time.Time) map[string]any {
	if !isCluster {
		return document
	}
	metadata, isMapping := document["metadata"].(map[string]any)
	if !isMapping {
		return document
	}
	earlier, _ := before["metadata"].(map[string]any)
	keep := func(key string) {
		if value := earlier[key]; value != nil {
			metadata[key] = value
		}
	}
	switch id.version {
	case tables.BreakglassGroup:
		delete(document, "status")
		if status := before["status"]; status != nil {
			document["status"] = status
		}
		delete(metadata, "uid")
		keep("uid")
		if metadata["ownerReferences"] == nil {
			keep("ownerReferences")
		}
	case gatewayGroup, kuadrantGroup:
		metadata["creationTimestamp"] = dates.Format(now.Truncate(time.Second))
		keep("creationTimestamp")
	}
	return document
}
