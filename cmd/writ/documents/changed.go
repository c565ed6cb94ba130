package documents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// changedFile is the file of documents that BuildChanged adds.
const changedFile = "~changed.json"

// Part returns what was read and decoded.
func (r *Translation) Part() Part { return Part{r.snapshot, r.documents} }

// BuildChanged builds the bundle of documents with some written, in the place of those of the
// same kind, namespace and name, and some gone.
func (d *Flags) BuildChanged(ctx context.Context, p Part, adds, removes []map[string]any) (*bundles.Bundle, error) {
	next := &Translation{snapshot: p.Snapshot}
	next.snapshot.Files = slices.Clone(p.Snapshot.Files)
	for _, document := range slices.Concat(adds, removes) {
		id := identityOf(document)
		for _, one := range p.Documents {
			h := one.Meta()
			if !h.Bootstrap && id == (identity{h.APIVersion, h.Kind, h.Namespace, h.Name}) {
				if err := next.takeOut(h.At.File, id); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(adds) > 0 {
		next.snapshot.Files = append(next.snapshot.Files, listFile(source.File{Path: changedFile}, adds))
	}
	given, err := d.Settings()
	if err != nil {
		return nil, err
	}
	d.translate(ctx, d.translator(given, false), next)
	if next.Result == nil {
		i := max(0, slices.IndexFunc(next.List, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }))
		return nil, fmt.Errorf("the changed documents do not compile: %s", next.List[i].Message)
	}
	return bundles.Build(next.Result, bundles.BuildOptions{})
}

// identity identifies a document.
type identity struct{ version, kind, namespace, name string }

func identityOf(document map[string]any) identity {
	meta, ok := document["metadata"].(map[string]any)
	if !ok {
		return flatIdentityOf(document)
	}
	return identity{
		version:   textOf(document["apiVersion"]),
		kind:      textOf(document["kind"]),
		namespace: textOf(meta["namespace"]),
		name:      textOf(meta["name"]),
	}
}

// flatKinds are the kinds that have a flat form.
var flatKinds = []string{"Role", "RoleBinding", "Policy", "PolicyBinding"}

// flatIdentityOf identifies an Origin document in the flat form: its words are in any case, and
// it has no apiVersion.
func flatIdentityOf(document map[string]any) identity {
	out := identity{version: syntax.VersionWrit}
	for key, value := range document {
		switch strings.ToLower(key) {
		case "kind":
			isIt := func(kind string) bool { return strings.EqualFold(kind, textOf(value)) }
			if i := slices.IndexFunc(flatKinds, isIt); i >= 0 {
				out.kind = flatKinds[i]
			}
		case "name":
			out.name = textOf(value)
		case "namespace":
			out.namespace = textOf(value)
		}
	}
	return out
}

// textOf returns a value that is a text, "" for another.
func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// takeOut removes a document from its file, which then holds its others as JSON.
func (r *Translation) takeOut(path string, id identity) error {
	for i, file := range r.snapshot.Files {
		if file.Path != path {
			continue
		}
		var left []map[string]any
		decoder := yaml.NewDecoder(bytes.NewReader(file.Content.Bytes()))
		for {
			var one map[string]any
			err := decoder.Decode(&one)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			left = append(left, without(one, id)...)
		}
		r.snapshot.Files[i] = listFile(file, left)
	}
	return nil
}

// without returns a document, or the items of a list, unless they have an identity.
func without(document map[string]any, id identity) (out []map[string]any) {
	items, isList := document["items"].([]any)
	switch {
	case isList && document["kind"] == "List":
		for _, item := range items {
			if one, ok := item.(map[string]any); ok {
				out = append(out, without(one, id)...)
			}
		}
	case document != nil && identityOf(document) != id:
		takeOutOf(document, id)
		out = append(out, document)
	}
	return out
}

// takeOutOf removes a role or a binding that a Policy or a PolicyBinding contains.
func takeOutOf(document map[string]any, id identity) {
	field := map[string]string{"Policy Role": "roles", "PolicyBinding RoleBinding": "roleBindings"}
	of := identityOf(document)
	for key, value := range document {
		contents, ok := value.(map[string]any)
		isOfKind := ok && strings.EqualFold(key, field[of.kind+" "+id.kind])
		if isOfKind && of.version == id.version && of.namespace == id.namespace {
			delete(contents, id.name)
		}
	}
}

// listFile returns a file with other documents.
func listFile(file source.File, documents []map[string]any) source.File {
	content := jsontext.Marshal(map[string]any{
		"apiVersion": "v1",
		"kind":       "List",
		"items":      append([]map[string]any{}, documents...),
	})
	file.Content, file.Hash, file.Object = source.TextOf(content), sha256.Sum256(content), false
	return file
}
