package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the number of the user and of the group that the image runs as. It is the one
// that other images without privileges use, so volumes can be shared.
const user = 65532

// stateDir is the directory that the user may write into.
const stateDir = "var/lib/writ"

// makeIndex returns an index with an image for each platform.
func makeIndex(binaries []string, version, commit string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arg := range binaries {
		platform, path, err := platformOf(arg)
		if err != nil {
			return nil, err
		}
		binary, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		image, err := makeImage(binary, platform, version, commit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, nil
}

func makeImage(binary []byte, platform v1.Platform, version, commit string) (v1.Image, error) {
	content, err := makeLayer(binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Created: v1.Time{Time: time.Unix(0, 0).UTC()},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: diffIDs(image)},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/usr/bin/writ"}, Cmd: []string{"serve"},
			WorkingDir: "/", ExposedPorts: map[string]struct{}{"8686/tcp": {}},
			Labels: map[string]string{
				"org.opencontainers.image.title":    "writ",
				"org.opencontainers.image.version":  version,
				"org.opencontainers.image.revision": commit,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	})
}

func diffIDs(image v1.Image) []v1.Hash {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // the image is made in memory
	}
	return config.RootFS.DiffIDs
}

// makeLayer returns a tar archive of the files. Nothing in it depends on the time or the
// machine.
func makeLayer(binary []byte) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	for _, f := range []struct {
		name    string
		mode    int64
		owner   int
		content []byte // nil for a directory
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "writ:x:%d:\n", user)},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil, "writ:x:%d:%d:writ:/%s:/sbin/nologin\n", user, user, stateDir)},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/writ", 0o755, 0, binary},
		{"var/", 0o755, 0, nil},
		{"var/lib/", 0o755, 0, nil},
		{stateDir + "/", 0o700, user, nil},
	} {
		header := &tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)),
			ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if f.content == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return buffer.Bytes(), err
}
