package cluster

import (
	"context"
	"strings"

	"github.com/writ-policy/writ/server/decision"
)

// object is what rules read of the object that a review names. The zero value is unknown.
type object struct {
	labels map[string]string // nil: unknown
	node   string            // of a pod; empty: unknown, or the pod runs nowhere
}

// metadataOnly asks for the metadata of an object of any kind: the content of a Secret is
// not sent.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// object fetches what rules read of the object of a review: its labels and, of a pod, its
// node. It returns nothing if the object cannot be read, or is of a version that the review
// does not say.
func (c *client) object(ctx context.Context, r *decision.Request, node bool) (read object) {
	version, _ := r.Attributes["version"].(string)
	path := []string{"/api", version}
	if r.APIGroup != "" {
		path = []string{"/apis", r.APIGroup, version}
	}
	if r.Namespace != "" {
		path = append(path, "namespaces", r.Namespace)
	}
	path = append(path, r.Resource, r.Name)
	for _, segment := range path[1:] {
		if !isSegment(segment) {
			return read
		}
	}
	if c.isOwnFetch(ctx, r) {
		return read
	}
	client, err := c.open()
	if err != nil {
		return read
	}
	get := client.Get().MaxRetries(1).AbsPath(strings.Join(path, "/"))
	if !node {
		get = get.SetHeader("Accept", metadataOnly)
	}
	body, err := get.Do(ctx).Raw()
	if err != nil {
		return read
	}
	value, err := decision.Parse(body)
	if err != nil {
		return read
	}
	whole, _ := value.Any().(map[string]any)
	metadata, _ := whole["metadata"].(map[string]any)
	if metadata["name"] != r.Name {
		return read
	}
	read.labels = readLabels(metadata)
	if spec, _ := whole["spec"].(map[string]any); node {
		read.node, _ = spec["nodeName"].(string)
	}
	return read
}

// isSegment reports whether text is one segment of the path of an object, as an API server
// accepts them: it refuses these names of objects too.
func isSegment(text string) bool {
	return text != "" && text != "." && text != ".." && text != "*" && !strings.ContainsAny(text, "/%?#\\")
}

// readLabels reads the labels of an object. It returns nil if they are malformed.
func readLabels(metadata map[string]any) map[string]string {
	labels := map[string]string{}
	if metadata["labels"] == nil {
		return labels
	}
	words, ok := metadata["labels"].(map[string]any)
	for key, word := range words {
		text, isText := word.(string)
		ok = ok && isText
		labels[key] = text
	}
	if !ok {
		return nil
	}
	return labels
}
