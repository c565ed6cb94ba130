package syntax

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Kind is one kind of document and the function that decodes it. A kind has an
// APIVersion, a Name and Decode, or a Suffix and DecodeFile.
type Kind struct {
	APIVersion string
	Name       string
	// Decode appends the document n to the decoder's, or reports why it cannot;
	// kind is the document's kind field.
	Decode DecodeFunc
	// DecodeFlat decodes the flat form: no metadata, field names and the kind in any
	// case, apiVersion optional. Nil for a kind without such a form.
	DecodeFlat DecodeFunc

	// Targets returns what a field may name, references without names and positions. Nil
	// for a kind that names no documents, or none that editors complete.
	Targets func(ReferringField) []Reference

	// Suffix is the end of the names of files that DecodeFile decodes whole. Such
	// files are not YAML.
	Suffix     string
	DecodeFile func(file string, content []byte, o Options) File

	// Words are parts of a group, in lower case, with which a document of this Name looks
	// like a misspelt one of this kind.
	Words []string
	// Texts describe the fields of the kind; see Text.
	Texts Texts
	// SkippedIn is the group of a kind that is not policy and is skipped in any version;
	// such a kind has only a Name beside it.
	SkippedIn string

	dated bool // Decode reads or checks the dates in annotations
}

// DecodeFunc decodes one document.
type DecodeFunc func(d *Decoder, n *Node, kind *Field)

// KindsOf returns kinds of one API version that have one function to decode them
// and no flat form.
func KindsOf(version string, decode DecodeFunc, names ...string) Kinds {
	kinds := make(Kinds, 0, len(names))
	for _, name := range names {
		kinds = append(kinds, Kind{APIVersion: version, Name: name, Decode: decode})
	}
	return kinds
}

// SkippedKinds returns kinds of a group that are not policy.
func SkippedKinds(group string, names ...string) Kinds {
	kinds := make(Kinds, 0, len(names))
	for _, name := range names {
		kinds = append(kinds, Kind{Name: name, SkippedIn: group})
	}
	return kinds
}

// WithWords sets the words of kinds and returns them.
func (k Kinds) WithWords(words ...string) Kinds {
	for i := range k {
		k[i].Words = words
	}
	return k
}

// WithTargets sets what fields of the kinds may name and returns them.
func (k Kinds) WithTargets(targets func(ReferringField) []Reference) Kinds {
	for i := range k {
		k[i].Targets = targets
	}
	return k
}

// Kinds are the kinds that can be decoded. Hints list them in this order.
type Kinds []Kind

// find returns the kind of an apiVersion and name, or nil. In the flat form a
// kind that has one may be written in any case.
func (k Kinds) find(version, name string, flat bool) *Kind {
	for i := range k {
		if k[i].APIVersion == version && (k[i].Name == name || flat && k[i].DecodeFlat != nil && Fold(k[i].Name) == Fold(name)) {
			return &k[i]
		}
	}
	return nil
}

// flat returns the kind of a name in any case that has a flat form, or nil.
func (k Kinds) flat(name string) *Kind {
	for i := range k {
		if k[i].DecodeFlat != nil && Fold(k[i].Name) == Fold(name) {
			return &k[i]
		}
	}
	return nil
}

// versions returns the API versions of all kinds.
func (k Kinds) versions() []string {
	var out []string
	for i := range k {
		if v := k[i].APIVersion; v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// names returns the names of the kinds of an API version.
func (k Kinds) names(version string) []string {
	var out []string
	for i := range k {
		if k[i].APIVersion == version && version != "" {
			out = append(out, k[i].Name)
		}
	}
	return out
}

// sharedVersions returns the API versions that have a kind name in common, those of flat
// kinds first.
func (k Kinds) sharedVersions() []string {
	byName := make(map[string]string, len(k)) // first version by kind name
	shared := make(map[string]bool)
	for i := range k {
		switch first, seen := byName[k[i].Name]; {
		case k[i].APIVersion == "":
		case !seen:
			byName[k[i].Name] = k[i].APIVersion
		default:
			shared[first], shared[k[i].APIVersion] = true, true
		}
	}
	var flat, other []string
	for _, version := range k.versions() {
		switch {
		case !shared[version]:
		case slices.ContainsFunc(k, func(kind Kind) bool { return kind.DecodeFlat != nil && kind.APIVersion == version }):
			flat = append(flat, version)
		default:
			other = append(other, version)
		}
	}
	return append(flat, other...)
}

// soleVersion returns the API version of a kind if that version shares no kind name with
// another one, else "".
func (k Kinds) soleVersion(name string) string {
	shared := k.sharedVersions()
	for i := range k {
		if k[i].Name == name && k[i].APIVersion != "" && !slices.Contains(shared, k[i].APIVersion) {
			return k[i].APIVersion
		}
	}
	return ""
}

// VersionWrit is the API version of Origin documents and decision tests.
const VersionWrit = "writ.dev/v1"

// Texts describe fields for schemas, editors and documents: one sentence each. A key is the
// end of a path, such as "rules.verbs", without the items of lists; "*" is any name of a map.
// The nil Texts describe nothing.
type Texts map[string]string

//go:embed fields.txt
var commonFields string

// common describes the fields that documents of several families have.
var common = readTexts(commonFields)

// readTexts reads lines of the form "end.of.path: sentence". Lines that are empty or begin
// with # are ignored. The files are part of the program: it panics on a line of another form,
// and on a path that is described twice.
func readTexts(content string) Texts {
	texts := make(Texts)
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		path, text, ok := strings.Cut(line, ": ")
		if _, twice := texts[path]; !ok || twice {
			panic(fmt.Sprintf("texts of fields: bad line %q", line))
		}
		texts[path] = text
	}
	return texts
}

// WithTexts sets the texts of the fields of kinds and returns the kinds.
func (k Kinds) WithTexts(content string) Kinds {
	texts := readTexts(content)
	for i := range k {
		k[i].Texts = texts
	}
	return k
}

// Text returns the text of the field at a path, which has "*" for any name and leaves the
// items of lists out: that of the longest end of the path, of the
// kind before the common ones; empty if the field has none.
func (k *Kind) Text(path []string) string {
	for i := range path {
		end := strings.Join(path[i:], ".")
		for _, texts := range []Texts{k.Texts, common} {
			if text, ok := texts[end]; ok {
				return text
			}
		}
	}
	return ""
}
