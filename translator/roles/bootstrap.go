package roles

import (
	"bytes"
	_ "embed" // for the file below
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
