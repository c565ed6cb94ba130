package main

import (
	"archive/tar"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/writ-policy/writ/tests/process"
)

var program = flag.String("registry", "", "the program of tests/registry; empty: a registry in memory")

// The image that a registry returns is what was pushed: the binary of each platform, run
// by a user without privileges, and nothing else that can be executed.
func TestPushedImage(t *testing.T) {
	at := process.Registry(t, *program) + "/policy/writ:v1.2.3"
	dir := t.TempDir()
	args := []string{"-version", "v1.2.3", "-commit", "abc", "-o", filepath.Join(dir, "layout"), "-push", at}
	for _, architecture := range []string{"amd64", "arm64"} {
		path := filepath.Join(dir, architecture)
		if err := os.WriteFile(path, []byte("binary of "+architecture), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "linux/"+architecture+"="+path)
	}
	var digests []v1.Hash
	for range 2 { // an equal image each time
		if err := run(args); err != nil {
			t.Fatal(err)
		}
		reference, err := name.ParseReference(at)
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(reference)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("the index is not valid: %v", err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
		for _, architecture := range []string{"amd64", "arm64"} {
			image, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture}))
			if err != nil {
				t.Fatal(err)
			}
			checkImage(t, image, architecture)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("got %s and %s from equal binaries", digests[0], digests[1])
	}
	written, err := layout.ImageIndexFromPath(filepath.Join(dir, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := written.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != digests[0] {
		t.Errorf("the layout has %+v, %v, want %s", manifest, err, digests[0])
	}
}

func checkImage(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/usr/bin/writ" || strings.Join(c.Cmd, " ") != "serve" ||
		config.Architecture != architecture || c.Labels["org.opencontainers.image.version"] != "v1.2.3" {
		t.Errorf("%s: got %+v", architecture, config)
	}
	files := tar.NewReader(mutate.Extract(image))
	found := 0
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case header.Name == "usr/bin/writ":
			found++
			if string(content) != "binary of "+architecture || header.Mode != 0o755 || header.Uid != 0 {
				t.Errorf("%s: got %q with %+v", architecture, content, header)
			}
		case strings.HasPrefix(header.Name, "var/lib/writ"):
			found++
			if header.Uid != user || header.Mode != 0o700 {
				t.Errorf("%s: got %+v", architecture, header)
			}
		case header.Typeflag == tar.TypeReg && header.Mode&0o111 != 0:
			t.Errorf("%s: %s can be executed", architecture, header.Name)
		}
	}
	if found != 2 {
		t.Errorf("%s: found %d of the binary and the directory of state", architecture, found)
	}
}

func TestMistakes(t *testing.T) {
	for name, args := range map[string][]string{
		"no platform":      {"-version", "v1", "-o", t.TempDir()},
		"no version":       {"-o", t.TempDir(), "linux/amd64=image.go"},
		"no target":        {"-version", "v1", "linux/amd64=image.go"},
		"another system":   {"-version", "v1", "-o", t.TempDir(), "windows/amd64=image.go"},
		"no binary":        {"-version", "v1", "-o", t.TempDir(), "linux/amd64=nowhere"},
		"a bad reference":  {"-version", "v1", "-push", "A B", "linux/amd64=image.go"},
		"an unknown flag":  {"-flag"},
		"nothing to write": {"linux/amd64=image.go", "-version"},
	} {
		if err := run(args); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// A folder of something else is not replaced.
func TestLayoutReplacesLayoutsAlone(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "writ")
	if err := os.WriteFile(binary, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(to string) []string { return []string{"-version", "v1", "-o", to, "linux/amd64=" + binary} }
	if err := run(args(folder)); err == nil || !strings.Contains(err.Error(), "is not an OCI layout") {
		t.Errorf("got %v, want an error about the folder", err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Errorf("a file of the folder is gone: %v", err)
	}
	for range 2 {
		if err := run(args(filepath.Join(folder, "layout"))); err != nil {
			t.Error(err)
		}
	}
}
