package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/writ-policy/writ/server/console"
)

//go:embed assets
var assetFiles embed.FS

// assetPath is the folder of assets.
const assetPath = "/page/assets/"

// asset is a file that browsers load.
type asset struct {
	kind    string
	etag    string
	content []byte
	zipped  []byte
}

// assets maps file names with a hash of their content to files. paths maps plain names to
// the paths of these.
type assets struct {
	files map[string]asset
	paths map[string]string
}

var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// loadAssets compresses all assets once.
func loadAssets() assets {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // they are part of the binary
	}
	all := assets{files: make(map[string]asset), paths: make(map[string]string)}
	for _, entry := range entries {
		content, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			panic(err)
		}
		hash := sha256.Sum256(content)
		sum, extension := hex.EncodeToString(hash[:6]), path.Ext(entry.Name())
		name := strings.TrimSuffix(entry.Name(), extension) + "." + sum + extension
		all.files[name] = asset{kinds[extension], `"` + sum + `"`, content, zip(content)}
		all.paths[entry.Name()] = assetPath + name
	}
	return all
}

func zip(content []byte) []byte {
	var zipped bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	w.Write(content) //nolint:errcheck // a buffer
	w.Close()        //nolint:errcheck // a buffer
	return zipped.Bytes()
}

// acceptsGzip reports whether a client reads gzip.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.TrimSpace(name) == "gzip" {
			return strings.ReplaceAll(weight, " ", "") != "q=0"
		}
	}
	return false
}

func (p *page) asset(w http.ResponseWriter, r *http.Request) {
	file, found := p.assets.files[r.PathValue("name")]
	if !found {
		p.fail(w, r, console.Caller{}, notFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", file.etag)
	h.Set("Content-Type", file.kind)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == file.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := file.content
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		content = file.zipped
	}
	w.Write(content) //nolint:errcheck // the client is gone
}
