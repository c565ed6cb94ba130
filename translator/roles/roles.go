// Package roles holds the stock roles view, edit, admin and cluster-admin as
// documents to copy into a policy directory. They are never implied: a
// directory that binds one must hold it. The package hands out text and knows
// nothing of what it means.
package roles

import (
	"bytes"
	"embed"
	_ "embed" // for the file below
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed origin kubernetes
var documents embed.FS

// Families of stock roles, spelt as in diagnostics and in the tables.
const (
	Origin     = "origin"
	Kubernetes = "kubernetes"
)

// Families lists the families in the order in which they are printed.
var Families = []string{Kubernetes, Origin}

// Names lists the roles from the least to the most powerful.
var Names = []string{"view", "edit", "admin", "cluster-admin"}

// contains maps a Kubernetes role to the stock role that it aggregates. Without that
// role in the directory, the larger role would lack its grants.
var contains = map[string]string{"edit": "view", "admin": "edit"}

// Documents returns the documents of the named roles of a family as one YAML stream,
// each once, aggregated roles first. No names means all roles. It returns an error if
// the family or a name is unknown.
func Documents(family string, names ...string) ([]byte, error) {
	if !slices.Contains(Families, family) {
		return nil, fmt.Errorf("no family %q", family)
	}
	if len(names) == 0 {
		names = Names
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		if !slices.Contains(Names, name) {
			return nil, fmt.Errorf("no stock role %q", name)
		}
		for ; name != ""; name = contains[name] {
			wanted[name] = true
			if family != Kubernetes {
				break
			}
		}
	}
	var parts [][]byte
	for _, name := range Names {
		if !wanted[name] {
			continue
		}
		text, err := documents.ReadFile(family + "/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read stock role: %w", err)
		}
		parts = append(parts, text)
	}
	return bytes.Join(parts, []byte("---\n")), nil
}

// kubernetesVersion names the release whose roles are embedded.
const kubernetesVersion = "kubernetes/1.36"

// bootstrapPrefix begins the sources of bootstrap documents.
const bootstrapPrefix = "bootstrap:"

// IsBootstrap reports whether a source, or the file of a position, is that of bootstrap
// documents.
func IsBootstrap(source string) bool { return strings.HasPrefix(source, bootstrapPrefix) }

// The file has one document a line. The module of tests/kubernetes generates it from the
// package that an API server starts with.
//
//go:embed bootstrap/kubernetes.yaml
var bootstrap []byte

// Bootstrap returns the documents that --bootstrap-roles adds for a family of Families, as
// YAML, and their file in positions: the roles and bindings that every Kubernetes API server
// makes, or the stock roles of Origin in the master namespace. The text must not be modified.
func Bootstrap(family, master string) (source string, text []byte, err error) {
	if family == Kubernetes {
		return bootstrapPrefix + kubernetesVersion, bootstrap, nil
	}
	text, err = Documents(family)
	stated := "namespace: " + strconv.Quote(master) // a path segment, so without escapes in YAML
	return bootstrapPrefix + family, bytes.ReplaceAll(text, []byte("namespace: master"), []byte(stated)), err
}

// BootstrapDocuments returns the roles and bindings that every Kubernetes API server makes,
// for people.
func BootstrapDocuments() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	decoder := yaml.NewDecoder(bytes.NewReader(bootstrap))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			if errors.Is(err, io.EOF) {
				return out.Bytes(), encoder.Close()
			}
			return nil, fmt.Errorf("read bootstrap roles: %w", err)
		}
		setBlockStyle(&document)
		if err := encoder.Encode(&document); err != nil {
			return nil, fmt.Errorf("write bootstrap roles: %w", err)
		}
	}
}

// setBlockStyle removes the style of JSON from a node and those below it.
func setBlockStyle(n *yaml.Node) {
	n.Style = 0
	for _, below := range n.Content {
		setBlockStyle(below)
	}
}
