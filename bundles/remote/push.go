package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"

	"github.com/writ-policy/writ/bundles"
)

// PushOptions state where a bundle is pushed to. Location is required.
type PushOptions struct {
	Location    string // oci://REGISTRY/REPOSITORY:TAG
	Config      *Config
	Credentials Credentials
	PlainHTTP   bool
}

// Pushed describes a pushed bundle.
type Pushed struct {
	Manifest string // digest of what the tag names
	Layer    string // digest of the tarball
	Size     int64  // of the tarball, in bytes
}

// The types of the artifact, as `opa` and its documentation have them.
const configType = "application/vnd.oci.image.config.v1+json"

// Push uploads the bundle b, whose tarball is packed, to a registry and sets the tag when
// the upload is complete. Pushing the same bundle again changes nothing. It fails if the
// location has no tag or the registry rejects a request.
func Push(ctx context.Context, b *bundles.Bundle, packed []byte, o PushOptions) (Pushed, error) {
	s, location, err := o.Config.resolve(o.Location)
	if err != nil {
		return Pushed{}, fmt.Errorf("push the bundle: %w", err)
	}
	reference, ok := strings.CutPrefix(location, "oci://")
	if !ok {
		return Pushed{}, errors.New("push the bundle: a bundle is pushed to oci://REGISTRY/REPOSITORY:TAG")
	}
	repository, err := openRepository(reference, s, o.Credentials, o.PlainHTTP)
	if err != nil {
		return Pushed{}, fmt.Errorf("push the bundle: %w", err)
	}
	if err := repository.Reference.ValidateReferenceAsDigest(); err == nil {
		return Pushed{}, errors.New("push the bundle: it is named by a tag; the output shows its digest")
	}
	config := []byte("{}")
	configAt := content.NewDescriptorFromBytes(configType, config)
	layerAt := content.NewDescriptorFromBytes(layerType, packed)
	for _, blob := range []struct {
		at      ocispec.Descriptor
		content []byte
	}{{configAt, config}, {layerAt, packed}} {
		there, err := repository.Blobs().Exists(ctx, blob.at)
		if err == nil && !there {
			err = repository.Blobs().Push(ctx, blob.at, io.NewSectionReader(bytes.NewReader(blob.content), 0, blob.at.Size))
		}
		if err != nil {
			return Pushed{}, fmt.Errorf("push the bundle: %w", withoutURL(err))
		}
	}
	manifest, err := oras.PackManifest(ctx, repository, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{
		Layers: []ocispec.Descriptor{layerAt}, ConfigDescriptor: &configAt, ManifestAnnotations: annotations(b),
	})
	if err == nil {
		err = repository.Tag(ctx, manifest, repository.Reference.Reference)
	}
	if err != nil {
		return Pushed{}, fmt.Errorf("push the bundle: %w", withoutURL(err))
	}
	return Pushed{Manifest: manifest.Digest.String(), Layer: layerAt.Digest.String(), Size: layerAt.Size}, nil
}

// annotations describe the bundle to users of the registry. The time that the format
// requires is constant, so that the same bundle has the same digest.
func annotations(b *bundles.Bundle) map[string]string {
	about := map[string]string{
		ocispec.AnnotationCreated: "1970-01-01T00:00:00Z",
		ocispec.AnnotationVersion: b.Manifest.Revision,
	}
	if commit := b.Manifest.Metadata.Commit; commit != "" {
		about[ocispec.AnnotationRevision] = commit
	}
	return about
}
