module healthhub

go 1.19
