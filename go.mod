module github.com/loomwork/loom

go 1.26
