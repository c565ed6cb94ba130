package roles

import (
	"bytes"
	_ "embed" // for the file below
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// BootstrapSource is the file of the bootstrap documents in positions.
const BootstrapSource = "bootstrap:kubernetes/1.36"

// The file has one document a line. The module of tests/kubernetes generates it from the
// package that an API server starts with.
//
//go:embed bootstrap/kubernetes.yaml
var bootstrap []byte

// Bootstrap returns the roles and bindings that every Kubernetes API server makes, as YAML
// with a document in JSON on each line. The text must not be modified.
func Bootstrap() []byte { return bootstrap }

// BootstrapDocuments returns the same documents for people.
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
