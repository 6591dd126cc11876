// A whole log, in a folder or where it is served, as Go's checksum database reads its own.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// place is a folder or a URL that has a log at its paths.
type place string

func (at place) read(path string) ([]byte, error) {
	if !strings.HasPrefix(string(at), "http://") {
		return os.ReadFile(filepath.Join(string(at), path))
	}
	response, err := http.Get(string(at) + "/" + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, response.Status)
	}
	return io.ReadAll(response.Body)
}

func (at place) Height() int { return 8 }

func (at place) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		data, err := at.read(strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		found = append(found, data)
	}
	return found, nil
}

func (at place) SaveTiles([]tlog.Tile, [][]byte) {}

// readEntries reads the bundles of all entries.
func (at place) readEntries(size int64) [][]byte {
	var entries [][]byte
	for n := int64(0); n*256 < size; n++ {
		tile := tlog.Tile{H: 8, L: -1, N: n, W: int(min(256, size-n*256))}
		data, err := at.read(strings.Replace(tile.Path(), "tile/8/data/", "tile/entries/", 1))
		check(err)
		entries = append(entries, decodeBundle(data)...)
	}
	return entries
}

// checkLog proves each entry of the published tree, the tree of each earlier note, and receipts.
func checkLog(key string, at place) {
	verifier, err := note.NewVerifier(strings.TrimSpace(string(read(key))))
	check(err)
	signed, err := at.read("checkpoint")
	check(err)
	opened, err := note.Open(signed, note.VerifierList(verifier))
	check(err)
	last := parseTree(opened.Text)
	entries := at.readEntries(last.N)
	trees := append(openNotes(verifier), last)
	checkTrees(trees, entries, tlog.TileHashReader(last, at))
	checkReceipts(verifier, entries)
	fmt.Printf("%d notes, %d entries\n", len(trees)-1, len(entries))
}

func parseTree(text string) tlog.Tree {
	tree, err := tlog.ParseTree([]byte("go.sum database tree\n" + afterLine(text)))
	check(err)
	return tree
}
